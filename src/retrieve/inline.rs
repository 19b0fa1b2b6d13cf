//! Hands out the sources that came with a request.

use futures::FutureExt;
use futures::future::{self, BoxFuture};

use super::{RetrieveError, Retriever};
use crate::cite::source::Source;

/// The request's own sources. The caller chose them and their order, so all of them are returned, whatever the question.
#[derive(Debug, Clone)]
pub struct Inline {
    sources: Vec<Source>,
}

impl Inline {
    /// A retriever that returns `sources` as they are.
    #[must_use]
    pub fn new(sources: Vec<Source>) -> Self {
        Self { sources }
    }
}

impl Retriever for Inline {
    fn name(&self) -> &'static str {
        "sources of the request"
    }

    fn retrieve(&self, _question: &str, _top_k: usize) -> BoxFuture<'_, Result<Vec<Source>, RetrieveError>> {
        future::ready(Ok(self.sources.clone())).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::{Inline, Retriever, Source};

    #[tokio::test]
    async fn everything_comes_back_in_order() {
        let source =
            |id: &str| Source { id: id.to_owned(), title: None, url: None, text: "text".to_owned(), ocr: false };
        let sources = vec![source("b"), source("a"), source("c")];
        let found = Inline::new(sources.clone()).retrieve("anything", 1).await.unwrap();
        assert_eq!(found, sources);
    }
}
