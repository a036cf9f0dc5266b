//! Somebody who notes what visitors of the page want, instead of a cluster.

use std::sync::{Mutex, PoisonError};

use chandler::server::writes::{
    Approved, Extent, InstallOrder, Installing, ObjectName, Place, Refusal, RefusalKind,
    RemovalStep, RemovalWish, Removing, Staying, Token, Visitor, Writer,
};
use futures::future::BoxFuture;

/// The only token that the clerk knows.
pub const TOKEN: &str = "ann.token";

/// What a visitor wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    Install(InstallOrder, Extent),
    Approve(String, String),
    Uninstall(Place, RemovalWish, Extent),
}

type Listener = Box<dyn Fn(&Wanted) + Send + Sync>;

/// Notes what visitors want, and does nothing.
#[derive(Default)]
pub struct Clerk {
    /// All that was wanted so far.
    pub noted: Mutex<Vec<Wanted>>,
    /// Hears of everything that is noted.
    pub listener: Option<Listener>,
    /// What every visitor is told instead, if anything.
    pub refusal: Option<Refusal>,
}

impl Clerk {
    /// All that was wanted so far.
    pub fn wanted(&self) -> Vec<Wanted> {
        self.noted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn note(&self, token: &Token, wanted: Wanted) -> Result<(), Refusal> {
        know(token)?;
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        if let Some(listener) = &self.listener {
            listener(&wanted);
        }
        let mut all = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(wanted);
        Ok(())
    }
}

/// Refuses all tokens but one.
fn know(token: &Token) -> Result<(), Refusal> {
    if token.reveal() == TOKEN {
        return Ok(());
    }
    Err(Refusal {
        kind: RefusalKind::Unauthorized,
        message: "Unauthorized".to_owned(),
        hint: "sign in with another token".to_owned(),
    })
}

fn object(kind: &str, namespace: &str, name: &str) -> ObjectName {
    ObjectName {
        kind: kind.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

impl Writer for Clerk {
    fn visitor<'w>(&'w self, token: &'w Token) -> BoxFuture<'w, Result<Visitor, Refusal>> {
        let known = know(token).map(|()| Visitor {
            name: "ann".to_owned(),
            groups: vec!["captains".to_owned()],
        });
        Box::pin(async { known })
    }

    fn install<'w>(
        &'w self,
        token: &'w Token,
        order: InstallOrder,
        extent: Extent,
    ) -> BoxFuture<'w, Result<Installing, Refusal>> {
        let namespace = order.namespace.clone();
        let installing = Installing {
            subscription: order.package.clone(),
            makes: vec![object("Subscription", &namespace, &order.package)],
            keeps: vec![object("OperatorGroup", &namespace, "own")],
            yaml: "kind: Subscription\n".to_owned(),
            namespace,
        };
        let noted = self.note(token, Wanted::Install(order, extent));
        Box::pin(async { noted.map(|()| installing) })
    }

    fn approve<'w>(
        &'w self,
        token: &'w Token,
        namespace: &'w str,
        install_plan: &'w str,
    ) -> BoxFuture<'w, Result<Approved, Refusal>> {
        let wanted = Wanted::Approve(namespace.to_owned(), install_plan.to_owned());
        let noted = self.note(token, wanted);
        let approved = Approved {
            install_plan: install_plan.to_owned(),
            cluster_service_versions: Vec::new(),
        };
        Box::pin(async { noted.map(|()| approved) })
    }

    fn uninstall<'w>(
        &'w self,
        token: &'w Token,
        place: Place,
        wish: RemovalWish,
        extent: Extent,
    ) -> BoxFuture<'w, Result<Removing, Refusal>> {
        let Place {
            namespace,
            subscription,
        } = place.clone();
        let csv = object("ClusterServiceVersion", &namespace, "gopher.v1.1.0");
        let removing = Removing {
            goes: vec![RemovalStep {
                title: "the operator".to_owned(),
                objects: vec![csv],
            }],
            stays: vec![Staying {
                object: object("CustomResourceDefinition", "", "gophers.example.com"),
                why: "nobody asked for more".to_owned(),
            }],
            not_looked_at: Vec::new(),
            subscription,
            namespace,
        };
        let noted = self.note(token, Wanted::Uninstall(place, wish, extent));
        Box::pin(async { noted.map(|()| removing) })
    }
}
