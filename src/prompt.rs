//! Turns a question, its sources and the format into the messages for a model.

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the chat protocol's own words")]
pub enum Role {
    Assistant,
    System,
    User,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: String,
}
