//! Turns a model request into the body of a chat completion request.

use async_openai::types::chat::{
    ChatCompletionRequestAssistantMessage, ChatCompletionRequestMessage, ChatCompletionRequestSystemMessage,
    ChatCompletionRequestUserMessage, ChatCompletionStreamOptions, CreateChatCompletionRequest,
};
use bytes::Bytes;

use crate::model::ModelRequest;
use crate::prompt::{Message, Role};

/// The request as JSON; `model` is asked when the request names none. Always streamed, always with usage.
pub(super) fn body(request: ModelRequest, model: &str) -> Bytes {
    #[expect(deprecated, reason = "compatible servers know `max_tokens`, and many know nothing newer")]
    let request = CreateChatCompletionRequest {
        model: request.model.unwrap_or_else(|| model.to_owned()),
        messages: request.messages.into_iter().map(message).collect(),
        #[expect(clippy::cast_possible_truncation, reason = "the protocol's type is narrower; 0.1 stays 0.1")]
        temperature: request.temperature.map(|degree| degree as f32),
        max_tokens: request.max_tokens,
        stream: Some(true),
        stream_options: Some(ChatCompletionStreamOptions { include_usage: Some(true), include_obfuscation: None }),
        ..CreateChatCompletionRequest::default()
    };
    // Only maps whose keys are not text could fail, and it has none.
    serde_json::to_vec(&request).unwrap_or_default().into()
}

fn message(Message { role, content }: Message) -> ChatCompletionRequestMessage {
    match role {
        Role::Assistant => ChatCompletionRequestAssistantMessage::from(content).into(),
        Role::System => ChatCompletionRequestSystemMessage::from(content).into(),
        Role::User => ChatCompletionRequestUserMessage::from(content).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cite::source::Sources;
    use serde_json::{Value, json};

    fn check(model: Option<&str>, temperature: Option<f64>, max_tokens: Option<u32>, expected: &Value) {
        let messages =
            [(Role::System, "Cite."), (Role::User, "When?"), (Role::Assistant, "At 8."), (Role::User, "Sure?")];
        let request = ModelRequest {
            model: model.map(str::to_owned),
            messages: messages.map(|(role, content)| Message { role, content: content.to_owned() }).into(),
            question: "Sure?".to_owned(),
            sources: Sources::default(),
            refusal: String::new(),
            temperature,
            max_tokens,
        };
        let body: Value = serde_json::from_slice(&body(request, "configured")).unwrap();
        assert_eq!(&body, expected);
    }

    #[test]
    fn what_is_sent() {
        let mut expected = json!({
            "model": "configured",
            "messages": [
                {"role": "system", "content": "Cite."},
                {"role": "user", "content": "When?"},
                {"role": "assistant", "content": "At 8."},
                {"role": "user", "content": "Sure?"},
            ],
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        check(None, None, None, &expected);
        expected["model"] = json!("asked");
        expected["max_tokens"] = json!(300);
        expected["temperature"] = json!(0.1);
        check(Some("asked"), Some(0.1), Some(300), &expected);
    }
}
