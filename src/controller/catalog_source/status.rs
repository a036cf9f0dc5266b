//! What the status of a CatalogSource says. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::origin::{Origin, Polling};
use super::template::Unfilled;
use crate::api::catalog_source::{
    CatalogSourceStatus, ConfigMapReference, ConnectionStatus, RegistryService,
};
use crate::api::conditions::{
    CatalogSourceReason, Condition, ConditionStatus, ConnectionState, catalog_source as words,
};
use crate::controller::catalogs::Known;

/// What was found out about a CatalogSource.
#[derive(Debug, Clone, Default)]
pub(super) struct Finding {
    /// Nothing could be tried, because the spec makes no sense.
    pub(super) invalid: Option<String>,
    /// The digest of what serves.
    pub(super) digest: Option<String>,
    /// Why newer content could not be read.
    pub(super) problem: Option<String>,
    /// What does not keep it from being read.
    pub(super) warning: Option<String>,
    /// What the reason of that is.
    pub(super) reason: CatalogSourceReason,
    /// What is wrong with the interval.
    pub(super) interval: Option<String>,
    /// What serves: an image, an address.
    pub(super) address: String,
    /// What came of the template for the image.
    pub(super) template: Option<Result<String, Unfilled>>,
    /// The ConfigMap.
    pub(super) config_map: Option<ConfigMapReference>,
    /// Whether registries are polled.
    pub(super) polls: bool,
    /// What is left out of the content.
    pub(super) left_out: Vec<String>,
    /// Why nothing of the content is offered: nobody knows which packages are meant.
    pub(super) curation: Option<String>,
}

impl Finding {
    pub(super) fn invalid(problem: String) -> Self {
        Self {
            invalid: Some(problem),
            ..Self::default()
        }
    }

    pub(super) fn of(known: &Known, polling: &Polling, origin: &Origin) -> Self {
        let content = known.content.as_ref();
        let problems = content.and_then(|content| content.index.problems().ok());
        let left_out = problems.unwrap_or_default().into_iter();
        Self {
            digest: content.map(|content| content.digest.clone()),
            problem: known.problem.clone(),
            warning: known.warning.clone(),
            reason: match origin {
                Origin::ConfigMap(_) => CatalogSourceReason::ConfigMap,
                _ => CatalogSourceReason::RegistryServer,
            },
            interval: polling.problem.clone(),
            address: match origin {
                Origin::Image { image, .. } => image.clone(),
                Origin::Address(address) => address.clone(),
                Origin::ConfigMap(name) => format!("ConfigMap {name}"),
            },
            polls: matches!(origin, Origin::Image { .. }),
            left_out: left_out
                .map(|problem| match problem.package.as_str() {
                    "" => problem.message,
                    package => format!("{package}: {}", problem.message),
                })
                .collect(),
            ..Self::default()
        }
    }
}

/// What the status says now.
pub(super) fn status(
    before: &CatalogSourceStatus,
    finding: &Finding,
    now: &Time,
) -> CatalogSourceStatus {
    let mut after = before.clone();
    after.message.clear();
    after.reason = CatalogSourceReason::default();
    if let Some(template) = &finding.template {
        after.conditions = template_conditions(&before.conditions, template, now);
    } else {
        after.conditions.retain(|condition| {
            ![words::TEMPLATES_HAVE_RESOLVED, words::RESOLVED_IMAGE]
                .contains(&condition.type_.as_str())
        });
    }
    if let Some(problem) = &finding.invalid {
        after.reason = CatalogSourceReason::SpecInvalid;
        after.message.clone_from(problem);
        // Nothing serves any more, with any replica, and whoever waits for it is told.
        after.digest.clear();
        if let Some(connection) = &mut after.connection_state {
            connection.last_observed_state = ConnectionState::TransientFailure;
        }
        return after;
    }
    let digest = match (&finding.digest, &finding.problem) {
        (Some(digest), _) => digest.clone(),
        // Whoever has lost it may get it again by its digest, and others may have it still.
        (None, Some(_)) => before.digest.clone(),
        (None, None) => String::new(),
    };
    let is_new = digest != before.digest;
    if is_new && finding.polls {
        after.latest_image_registry_poll = Some(now.clone());
    }
    after.digest = digest;
    after.config_map_reference = finding.config_map.clone().map(|reference| {
        let known = before.config_map_reference.as_ref();
        let is_known =
            known.is_some_and(|known| known.resource_version == reference.resource_version);
        let time = known
            .filter(|_| is_known)
            .and_then(|known| known.last_update_time.clone());
        ConfigMapReference {
            last_update_time: time.or_else(|| Some(now.clone())),
            ..reference
        }
    });
    let service = before.registry_service.clone();
    after.registry_service = Some(service.unwrap_or_else(|| RegistryService {
        protocol: "grpc".into(),
        created_at: Some(now.clone()),
        ..RegistryService::default()
    }));
    let state = if finding.problem.is_some() {
        ConnectionState::TransientFailure
    } else {
        ConnectionState::Ready
    };
    let connected = before.connection_state.as_ref();
    let was_ready = connected.is_some_and(|it| it.last_observed_state == ConnectionState::Ready);
    let kept = connected.and_then(|it| it.last_connect.clone());
    let is_ready = state == ConnectionState::Ready;
    after.connection_state = Some(ConnectionStatus {
        address: finding.address.clone(),
        last_observed_state: state,
        last_connect: match kept {
            Some(kept) if !is_ready || (was_ready && !is_new) => Some(kept),
            _ if is_ready => Some(now.clone()),
            other => other,
        },
    });
    if let Some(problem) = &finding.problem {
        after.reason = finding.reason.clone();
        after.message = match &finding.digest {
            Some(_) => format!("{problem}{GOES_ON}"),
            None => problem.clone(),
        };
    } else if let Some(problem) = &finding.curation {
        after.reason = CatalogSourceReason::SpecInvalid;
        after.message = format!(
            "{problem}; until it is mended, nothing of the catalog is offered to Subscriptions"
        );
    } else if let Some(problem) = &finding.interval {
        after.reason = CatalogSourceReason::InvalidInterval;
        after.message.clone_from(problem);
    } else if let Some(warning) = &finding.warning {
        after.message = format!("{warning}; the catalog could be read without it");
    } else if let Some(first) = finding.left_out.first() {
        let others = finding.left_out.len() - 1;
        let more = if others == 0 {
            String::new()
        } else {
            format!(", and {others} more")
        };
        after.message =
            format!("what is broken is left out: {first}{more}; `chandler catalog lint` tells all");
    }
    after
}

/// How the message about an outage ends while something serves.
const GOES_ON: &str =
    "; what was read before goes on serving, and is looked for again from time to time";

/// Why newer content cannot be read, as the replica that leads wrote it down: all replicas say the same.
pub(super) fn problem(status: &CatalogSourceStatus) -> Option<String> {
    let is_invalid = status.reason == CatalogSourceReason::SpecInvalid && status.digest.is_empty();
    let message = &status.message;
    let problem = message.strip_suffix(GOES_ON).unwrap_or(message);
    (is_invalid || fails(status)).then(|| problem.to_owned())
}

fn fails(status: &CatalogSourceStatus) -> bool {
    let state = status.connection_state.as_ref();
    state.is_some_and(|it| it.last_observed_state == ConnectionState::TransientFailure)
}

/// What is worth an Event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct News {
    pub(super) is_bad: bool,
    pub(super) reason: String,
    pub(super) note: String,
}

/// What is worth an Event about a change of the status: that the catalog cannot be read any more, and
/// that it can again.
pub(super) fn news(before: &CatalogSourceStatus, after: &CatalogSourceStatus) -> Option<News> {
    match (fails(before), fails(after)) {
        (false, true) => Some(News {
            is_bad: true,
            reason: after.reason.to_string(),
            note: after.message.clone(),
        }),
        (true, false) => Some(News {
            is_bad: false,
            reason: words::CATALOG_READY.to_owned(),
            note: "the catalog can be read again".to_owned(),
        }),
        _ => None,
    }
}

fn template_conditions(
    before: &[Condition],
    template: &Result<String, Unfilled>,
    now: &Time,
) -> Vec<Condition> {
    let (status, reason, resolved, image) = match template {
        Ok(image) => (
            ConditionStatus::True,
            words::ALL_TEMPLATES_RESOLVED,
            "catalog image reference was successfully resolved".to_owned(),
            image.clone(),
        ),
        Err(unfilled) => (
            ConditionStatus::False,
            words::UNABLE_TO_RESOLVE,
            format!(
                "cannot fill in {} of the annotation: known are {{kube_major_version}}, \
                 {{kube_minor_version}} and {{kube_patch_version}}",
                unfilled.missing.join(", ")
            ),
            unfilled.image.clone(),
        ),
    };
    let condition = |type_: &str, message: String| {
        let known = before.iter().find(|condition| condition.type_ == type_);
        let since = known
            .filter(|known| known.status == status)
            .and_then(|known| known.last_transition_time.clone());
        Condition {
            type_: type_.to_owned(),
            status: status.clone(),
            observed_generation: None,
            last_transition_time: since.or_else(|| Some(now.clone())),
            reason: reason.to_owned(),
            message,
        }
    };
    vec![
        condition(words::TEMPLATES_HAVE_RESOLVED, resolved),
        condition(words::RESOLVED_IMAGE, image),
    ]
}

/// Whether two statuses say the same. Times follow from what else they say.
pub(super) fn same(a: &CatalogSourceStatus, b: &CatalogSourceStatus) -> bool {
    a == b
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    fn time(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    fn ready(digest: &str) -> Finding {
        Finding {
            digest: Some(digest.into()),
            address: "example.com/catalog:v1".into(),
            polls: true,
            ..Finding::default()
        }
    }

    #[test]
    fn a_catalog_that_was_read_is_ready() {
        let status = status(
            &CatalogSourceStatus::default(),
            &ready("sha256:a"),
            &time(5),
        );
        let connection = status.connection_state.unwrap();
        assert_eq!(connection.last_observed_state, ConnectionState::Ready);
        assert_eq!(connection.last_connect, Some(time(5)));
        assert_eq!(status.registry_service.unwrap().protocol, "grpc");
        assert_eq!(status.digest, "sha256:a");
        assert_eq!(status.latest_image_registry_poll, Some(time(5)));
    }

    #[test]
    fn nothing_changes_while_nothing_happens() {
        let before = status(
            &CatalogSourceStatus::default(),
            &ready("sha256:a"),
            &time(5),
        );
        let after = status(&before, &ready("sha256:a"), &time(900));
        assert!(same(&before, &after));
    }

    #[test]
    fn an_outage_is_said_and_what_was_read_goes_on_serving() {
        let before = status(
            &CatalogSourceStatus::default(),
            &ready("sha256:a"),
            &time(5),
        );
        let outage = Finding {
            problem: Some("the registry does not answer".into()),
            reason: CatalogSourceReason::RegistryServer,
            ..ready("sha256:a")
        };
        let during = status(&before, &outage, &time(900));
        assert_eq!(during.reason, CatalogSourceReason::RegistryServer);
        assert!(
            during.message.contains("goes on serving"),
            "{}",
            during.message
        );
        let connection = during.connection_state.as_ref().unwrap();
        assert_eq!(
            connection.last_observed_state,
            ConnectionState::TransientFailure
        );
        assert_eq!(
            connection.last_connect,
            Some(time(5)),
            "when it last worked"
        );
        assert_eq!(during.digest, "sha256:a");
        let over = status(&during, &ready("sha256:a"), &time(1000));
        assert_eq!(
            over.connection_state.unwrap().last_connect,
            Some(time(1000))
        );
        assert_eq!(
            (over.message.as_str(), over.reason),
            ("", CatalogSourceReason::default())
        );
    }

    #[test]
    fn a_spec_that_makes_no_sense_serves_nothing_any_more() {
        let before = status(
            &CatalogSourceStatus::default(),
            &ready("sha256:a"),
            &time(5),
        );
        let invalid = Finding::invalid("unknown sourcetype: nope".into());
        let after = status(&before, &invalid, &time(6));
        assert_eq!(after.digest, "");
        let state = &after.connection_state.as_ref().unwrap().last_observed_state;
        assert_eq!(*state, ConnectionState::TransientFailure);
        assert_eq!(problem(&after).as_deref(), Some("unknown sourcetype: nope"));
        let fresh = status(&CatalogSourceStatus::default(), &invalid, &time(6));
        assert_eq!(problem(&fresh).as_deref(), Some("unknown sourcetype: nope"));
        let again = status(&after, &ready("sha256:a"), &time(7));
        assert_eq!((again.digest.as_str(), problem(&again)), ("sha256:a", None));
    }

    #[test]
    fn what_a_replica_has_lost_is_still_named_for_those_who_have_it() {
        let before = status(
            &CatalogSourceStatus::default(),
            &ready("sha256:a"),
            &time(5),
        );
        let lost = Finding {
            problem: Some("the registry does not answer".into()),
            reason: CatalogSourceReason::RegistryServer,
            digest: None,
            ..ready("sha256:a")
        };
        let after = status(&before, &lost, &time(6));
        assert_eq!(after.digest, "sha256:a");
        assert_eq!(after.message, "the registry does not answer");
    }

    #[test]
    fn all_replicas_say_the_same_of_an_outage() {
        let outage = |digest: Option<&str>| Finding {
            problem: Some("the registry does not answer".into()),
            reason: CatalogSourceReason::RegistryServer,
            digest: digest.map(str::to_owned),
            ..ready("sha256:a")
        };
        for digest in [Some("sha256:a"), None] {
            let written = status(&CatalogSourceStatus::default(), &outage(digest), &time(5));
            let said = problem(&written);
            assert_eq!(said.as_deref(), Some("the registry does not answer"));
        }
        let curation = Finding {
            curation: Some("`[` in spec.packages is no pattern".into()),
            ..ready("sha256:a")
        };
        let written = status(&CatalogSourceStatus::default(), &curation, &time(5));
        assert_eq!(problem(&written), None, "it can be read");
    }

    #[test]
    fn a_pull_secret_that_is_missing_is_said_although_the_catalog_is_read() {
        let warned = Finding {
            warning: Some("pull secret port/pull is not there".into()),
            ..ready("sha256:a")
        };
        let status = status(&CatalogSourceStatus::default(), &warned, &time(5));
        assert_eq!(
            status.message,
            "pull secret port/pull is not there; the catalog could be read without it"
        );
        assert_eq!(problem(&status), None);
    }

    #[test]
    fn a_list_of_packages_that_makes_no_sense_is_said_although_the_catalog_is_read() {
        let bad = Finding {
            curation: Some("`[` in spec.packages is no pattern".into()),
            ..ready("sha256:a")
        };
        let status = status(&CatalogSourceStatus::default(), &bad, &time(5));
        assert_eq!(status.reason, CatalogSourceReason::SpecInvalid);
        assert_eq!(
            status.message,
            "`[` in spec.packages is no pattern; until it is mended, nothing of the catalog is offered to Subscriptions"
        );
        let state = status.connection_state.unwrap().last_observed_state;
        assert_eq!(state, ConnectionState::Ready);
    }

    #[test]
    fn an_outage_and_its_end_are_news_once() {
        let ready = status(
            &CatalogSourceStatus::default(),
            &ready("sha256:a"),
            &time(5),
        );
        let outage = Finding {
            problem: Some("the registry does not answer".into()),
            reason: CatalogSourceReason::RegistryServer,
            ..self::ready("sha256:a")
        };
        let during = status(&ready, &outage, &time(6));
        assert_eq!(
            news(&CatalogSourceStatus::default(), &ready),
            None,
            "nothing was wrong"
        );
        let begins = news(&ready, &during).unwrap();
        assert_eq!(
            (begins.is_bad, begins.reason.as_str()),
            (true, "RegistryServerError")
        );
        assert!(begins.note.starts_with("the registry does not answer"));
        assert_eq!(news(&during, &during), None);
        let ends = news(&during, &ready).unwrap();
        assert_eq!((ends.is_bad, ends.reason.as_str()), (false, "CatalogReady"));
    }

    #[test]
    fn a_message_goes_when_its_reason_does() {
        let bad = Finding {
            interval: Some("error parsing spec.updateStrategy".into()),
            ..ready("sha256:a")
        };
        let before = status(&CatalogSourceStatus::default(), &bad, &time(5));
        assert_eq!(before.reason, CatalogSourceReason::InvalidInterval);
        let after = status(&before, &ready("sha256:a"), &time(6));
        assert_eq!(
            (after.message.as_str(), after.reason),
            ("", CatalogSourceReason::default())
        );
    }

    #[test]
    fn the_template_is_told_in_two_conditions_that_go_with_it() {
        let filled = Finding {
            template: Some(Ok("example.com/catalog:v1.35".into())),
            ..ready("sha256:a")
        };
        let before = status(&CatalogSourceStatus::default(), &filled, &time(5));
        let types: Vec<&str> = before
            .conditions
            .iter()
            .map(|it| it.type_.as_str())
            .collect();
        assert_eq!(types, ["TemplatesHaveResolved", "ResolvedImage"]);
        assert_eq!(before.conditions[1].message, "example.com/catalog:v1.35");
        assert!(same(&before, &status(&before, &filled, &time(9))));
        assert!(
            status(&before, &ready("sha256:a"), &time(9))
                .conditions
                .is_empty()
        );
    }
}
