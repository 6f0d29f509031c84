//! Placeholder for the `responses` protocol while the workspace takes shape.

use super::{AuthHeader, Decoder, Encoded, End, Target, sse};
use hermes_types::{Delta, Fault, FaultKind, Reply, Request};

pub fn encode(_request: &Request, target: &Target) -> Encoded {
    Encoded { url: target.join(""), headers: Vec::new(), auth: AuthHeader::Bearer, body: Vec::new() }
}

#[derive(Debug)]
pub struct ResponsesDecoder;

impl ResponsesDecoder {
    pub fn new(_target: &Target) -> Self {
        Self
    }
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, _event: sse::Event<'_>, _out: &mut Vec<Delta>) -> Result<(), Fault> {
        Ok(())
    }

    fn finish(self: Box<Self>, _end: End) -> Result<Reply, Fault> {
        Err(Fault::new(FaultKind::EmptyStream, "no answer"))
    }
}
