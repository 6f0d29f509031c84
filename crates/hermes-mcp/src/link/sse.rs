//! The older protocol of remote servers: one stream of events from the server, and an address it names to post to.

use super::bounded::{self, EVENTS};
use super::{Unconnected, cause, http};
use crate::auth;
use crate::fault::Fault;
use crate::server::Server;
use crate::settings::{Auth, Remote};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::auth::AuthorizationManager;
use sse_stream::{Error as SseError, Sse};
use std::sync::Arc;
use tokio::sync::Mutex;
use url::Url;

const ENDPOINT: &str = "endpoint";

pub(super) struct Events {
    stream: BoxStream<'static, Result<Sse, SseError>>,
    door: Arc<Door>,
}

/// Where messages to the server go.
struct Door {
    client: Client,
    login: Option<Mutex<AuthorizationManager>>,
    address: Url,
}

/// Why a message was not posted.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotPosted {
    #[error("it could not be connected to: {0}")]
    Unreachable(String),
    #[error("HTTP {0}")]
    TurnedAway(StatusCode),
    #[error("{0}")]
    CutOff(String),
    #[error("the login is over")]
    Unauthorized,
}

impl NotPosted {
    pub(super) fn fault(&self) -> Fault {
        let reason = self.to_string();
        match self {
            Self::Unauthorized | Self::TurnedAway(StatusCode::UNAUTHORIZED) => Fault::Unauthorized(reason),
            // The server does not know the session any more, or not yet: nothing was done.
            Self::Unreachable(_) | Self::TurnedAway(StatusCode::NOT_FOUND | StatusCode::GONE) => Fault::NotSent(reason),
            Self::TurnedAway(status) if status.is_client_error() => Fault::Refused(reason),
            Self::TurnedAway(_) | Self::CutOff(_) => Fault::Lost(reason),
        }
    }
}

impl Events {
    pub(super) async fn open(server: &Server, remote: &Remote) -> Result<Self, Unconnected> {
        let client = http::client(remote, server)?;
        let login = match &remote.auth {
            Auth::Headers => None,
            Auth::OAuth(oauth) => {
                let home = &server.shop.settings.around.hermes_home;
                Some(Mutex::new(auth::manager(home, &server.settings.name, &remote.url, oauth).await?))
            }
        };
        let door = Door { client, login, address: remote.url.clone() };
        let asked = door.signed(door.client.get(remote.url.clone())).await.map_err(|_| unauthorized())?;
        let answer = asked.header(ACCEPT, EVENTS).send().await;
        let answer = answer.map_err(|error| Unconnected::Unreachable(cause::told(&error)))?;
        let mut stream = events(answer)?;
        let address = loop {
            match stream.next().await {
                Some(Ok(event)) if event.event.as_deref() == Some(ENDPOINT) => {
                    break event.data.unwrap_or_default();
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(Unconnected::Unreachable(error.to_string())),
                None => return Err(Unconnected::Unreachable("its stream of events ended at once".to_owned())),
            }
        };
        let address = remote.url.join(address.trim()).ok().filter(|address| address.origin() == remote.url.origin());
        let address = address.ok_or_else(|| {
            Unconnected::Unreachable("it wants to be spoken to at another place than it was configured for".to_owned())
        })?;
        Ok(Self { stream, door: Arc::new(Door { address, ..door }) })
    }
}

fn unauthorized() -> Unconnected {
    Unconnected::Unauthorized(NotPosted::Unauthorized.to_string())
}

/// The events of an answer, where it has any.
fn events(answer: Response) -> Result<BoxStream<'static, Result<Sse, SseError>>, Unconnected> {
    match answer.status() {
        StatusCode::UNAUTHORIZED => return Err(unauthorized()),
        status if !status.is_success() => return Err(Unconnected::Unreachable(format!("HTTP {status}"))),
        _ => {}
    }
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.starts_with(EVENTS) {
        return Err(Unconnected::Unreachable(format!(
            "it sends `{kind}` where events were expected; is `transport: sse` right?"
        )));
    }
    Ok(bounded::events(answer.bytes_stream()))
}

impl Door {
    /// The request with the login, where the server wants one.
    async fn signed(&self, request: RequestBuilder) -> Result<RequestBuilder, NotPosted> {
        let Some(login) = &self.login else { return Ok(request) };
        let token = login.lock().await.get_access_token().await.map_err(|_| NotPosted::Unauthorized)?;
        Ok(request.bearer_auth(token))
    }

    async fn post(&self, message: Vec<u8>) -> Result<(), NotPosted> {
        let request = self.client.post(self.address.clone()).header(CONTENT_TYPE, "application/json").body(message);
        let answer = self.signed(request).await?.send().await.map_err(|error| match error.is_connect() {
            true => NotPosted::Unreachable(cause::told(&error)),
            false => NotPosted::CutOff(cause::told(&error)),
        })?;
        if answer.status().is_success() { Ok(()) } else { Err(NotPosted::TurnedAway(answer.status())) }
    }
}

impl Transport<RoleClient> for Events {
    type Error = NotPosted;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let door = self.door.clone();
        async move {
            let message = serde_json::to_vec(&item).map_err(|error| NotPosted::Unreachable(error.to_string()))?;
            door.post(message).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let event = match self.stream.next().await? {
                Ok(event) => event,
                Err(error) => {
                    tracing::debug!(%error, "the events of an MCP server ended");
                    return None;
                }
            };
            let data = event.data.unwrap_or_default();
            match serde_json::from_str(&data) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!(%error, "an event of an MCP server is no message"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.stream = futures_util::stream::empty().boxed();
        Ok(())
    }
}
