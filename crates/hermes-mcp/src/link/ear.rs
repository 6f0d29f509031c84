//! What a server may say without being asked: that its tools changed, and questions to a model or to the person.

// Sampling and roots are marked as old in the newest revision of the protocol; servers of today use them.
#![allow(deprecated, reason = "servers that speak older revisions of the protocol need them")]

use crate::server::Server;
use crate::{elicit, sampling};
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
    ListRootsResult, LoggingMessageNotificationParam, Root, RootsCapabilities, SamplingCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use std::sync::Arc;
use url::Url;

pub(crate) struct Ear {
    server: Arc<Server>,
}

impl Ear {
    pub(super) fn new(server: Arc<Server>) -> Self {
        Self { server }
    }
}

fn wrong(error: &serde_json::Error) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

impl ClientHandler for Ear {
    fn get_info(&self) -> ClientConfig {
        let settings = &self.server.settings;
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        if settings.sampling.enabled && self.server.shop.aide.is_some() {
            let mut sampling = SamplingCapability::default();
            sampling.tools = Some(rmcp::model::JsonObject::new());
            capabilities.sampling = Some(sampling);
        }
        if settings.elicitation.enabled {
            let form = FormElicitationCapability::new().with_schema_validation(true);
            capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
        }
        ClientConfig::new(capabilities, Implementation::new("hermes", env!("CARGO_PKG_VERSION")))
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.server.changed.notify_one();
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let said = hermes_core::redact::text(&params.data.to_string()).into_owned();
        tracing::debug!(server = %self.server.settings.name, said = %hermes_types::clip(&said, 500), "an MCP server says");
    }

    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        let root = Url::from_directory_path(self.server.root()).ok();
        Ok(ListRootsResult::new(root.into_iter().map(|root| Root::new(root.as_str())).collect()))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let asked = serde_json::to_value(&params).map_err(|error| wrong(&error))?;
        let answered = tokio::select! {
            biased;
            () = context.ct.cancelled() => Err("the server does not wait any more".to_owned()),
            answered = sampling::answer(&self.server, &asked) => answered,
        };
        let answered = answered.map_err(|reason| ErrorData::internal_error(reason, None))?;
        serde_json::from_value(answered).map_err(|error| wrong(&error))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request else {
            // Whatever opens a page on behalf of a server can open any page.
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let schema = serde_json::to_value(&requested_schema).map_err(|error| wrong(&error))?;
        let answered = tokio::select! {
            biased;
            () = context.ct.cancelled() => elicit::Answer::Cancel,
            answered = elicit::answer(&self.server, &message, &schema) => answered,
        };
        Ok(match answered {
            elicit::Answer::Accept(content) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
            }
            elicit::Answer::Decline => ElicitResult::new(ElicitationAction::Decline),
            elicit::Answer::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        })
    }
}
