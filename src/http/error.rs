//! Turns failures into HTTP responses: the one place that maps a code to a status.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::answer::event::{ErrorCode, Failure};
use crate::wire::native;

/// The status of a failure before the first byte.
pub(super) fn status(code: ErrorCode) -> StatusCode {
    use ErrorCode as E;
    match code {
        E::InvalidRequest => StatusCode::BAD_REQUEST,
        E::Unauthorized => StatusCode::UNAUTHORIZED,
        E::NotFound => StatusCode::NOT_FOUND,
        E::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        // An answer that was stopped under its reader's hands has no status of its own in the contract's list.
        E::Conflict | E::Stopped | E::Abandoned => StatusCode::CONFLICT,
        E::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        E::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        E::ModelRateLimited | E::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        E::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        E::AnswerTooLong
        | E::ModelError
        | E::ModelRejected
        | E::ModelStreamInvalid
        | E::ModelTruncated
        | E::ModelUnreachable
        | E::RetrieverFailed => StatusCode::BAD_GATEWAY,
        E::LogUnavailable | E::ShuttingDown | E::TooManyAnswers => StatusCode::SERVICE_UNAVAILABLE,
        E::ModelTimeout | E::RetrieverTimeout => StatusCode::GATEWAY_TIMEOUT,
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = (status(self.code), native::error(&self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// A request that is not as it should be; `param` is the path of the field.
pub(super) fn invalid(param: impl Into<String>, message: impl Into<String>) -> Failure {
    let param = Some(param.into()).filter(|p: &String| !p.is_empty());
    Failure { param, ..Failure::new(ErrorCode::InvalidRequest, message) }
}
