//! Where else an image may be: rules that lead from a registry to its mirrors.
//!
//! ```yaml
//! - source: quay.io/operatorhubio
//!   mirrors: [registry.internal:5000/hub, backup.internal/hub]
//!   mirrorSourcePolicy: NeverContactSource
//! ```
//!
//! or, on the command line, `quay.io/operatorhubio=registry.internal:5000/hub,backup.internal/hub`;
//! a `!` at the end (`…=registry.internal:5000/hub!`) means to never ask the source. The words are
//! those of `OpenShift`'s `ImageDigestMirrorSet`.

use std::str::FromStr;

use serde::Deserialize;

use super::{Error, ImageReference};

/// All rules; the one with the longest source counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mirrors {
    rules: Vec<Rule>,
}

/// One rule: whatever begins with `source` is looked for at the mirrors first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// A registry, or a registry and the beginning of a repository.
    pub source: String,
    /// What takes its place, in the order they are tried.
    pub mirrors: Vec<String>,
    /// Whether the source is asked when no mirror has the image.
    #[serde(default)]
    pub mirror_source_policy: SourcePolicy,
}

/// Whether the source is asked when no mirror has the image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum SourcePolicy {
    /// It is.
    #[default]
    AllowContactingSource,
    /// It is not.
    NeverContactSource,
}

impl Mirrors {
    /// Checks the rules. Several for the same source are tried one after the other.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Result<Self, Error> {
        let mut merged: Vec<Rule> = Vec::new();
        for rule in rules {
            let rule = rule.checked()?;
            match merged.iter_mut().find(|other| other.source == rule.source) {
                Some(other) => {
                    other.mirrors.extend(rule.mirrors);
                    if rule.mirror_source_policy == SourcePolicy::NeverContactSource {
                        other.mirror_source_policy = rule.mirror_source_policy;
                    }
                }
                None => merged.push(rule),
            }
        }
        Ok(Self { rules: merged })
    }

    /// Reads rules as they are given on a command line.
    pub fn parse<'t>(rules: impl IntoIterator<Item = &'t str>) -> Result<Self, Error> {
        let rules: Result<Vec<Rule>, Error> = rules.into_iter().map(str::parse).collect();
        Self::new(rules?)
    }

    /// Every place where an image may be, in the order they are tried.
    pub fn places(&self, image: &ImageReference) -> Result<Vec<ImageReference>, Error> {
        let name = image.name();
        let rule = self
            .rules
            .iter()
            .filter_map(|rule| below(&rule.source, &name).map(|rest| (rule, rest)))
            .max_by_key(|(rule, _)| rule.source.len());
        let Some((rule, rest)) = rule else {
            return Ok(vec![image.clone()]);
        };
        let mut places = Vec::new();
        for mirror in &rule.mirrors {
            let place = image.moved_to(&format!("{mirror}{rest}"))?;
            if !places.contains(&place) {
                places.push(place);
            }
        }
        if rule.mirror_source_policy == SourcePolicy::AllowContactingSource
            && !places.contains(image)
        {
            places.push(image.clone());
        }
        Ok(places)
    }
}

impl Rule {
    fn checked(mut self) -> Result<Self, Error> {
        let bad = |reason: String| Error::Settings {
            origin: "mirrors".into(),
            reason,
        };
        if self.mirrors.is_empty() {
            return Err(bad(format!("`{}` has no mirror", self.source)));
        }
        for name in std::iter::once(&mut self.source).chain(&mut self.mirrors) {
            *name = name.trim().trim_end_matches('/').to_owned();
            // A name is good when an image below it has a good name. Without a host, Docker's
            // would be meant, and that is never what somebody wants of a mirror.
            let image: Result<ImageReference, Error> = format!("{name}/x/x").parse();
            if !image.is_ok_and(|image| image.to_string() == format!("{name}/x/x:latest")) {
                return Err(bad(format!(
                    "`{name}` is not HOST or HOST/PATH of a registry"
                )));
            }
        }
        Ok(self)
    }
}

impl FromStr for Rule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (source, mirrors) = text.split_once('=').ok_or_else(|| Error::Settings {
            origin: "mirrors".into(),
            reason: format!("`{text}` is not SOURCE=MIRROR[,MIRROR...][!]"),
        })?;
        let (mirrors, policy) = match mirrors.strip_suffix('!') {
            Some(mirrors) => (mirrors, SourcePolicy::NeverContactSource),
            None => (mirrors, SourcePolicy::AllowContactingSource),
        };
        Self {
            source: source.to_owned(),
            mirrors: mirrors
                .split(',')
                .filter(|mirror| !mirror.trim().is_empty())
                .map(str::to_owned)
                .collect(),
            mirror_source_policy: policy,
        }
        .checked()
    }
}

/// The rest of a name that begins with a source: empty, or with a `/` in front.
fn below<'n>(source: &str, name: &'n str) -> Option<&'n str> {
    let rest = name.strip_prefix(source)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Mirrors, Rule};

    fn places(rules: &[&str], image: &str) -> Vec<String> {
        let mirrors = Mirrors::parse(rules.iter().copied()).unwrap();
        let places = mirrors.places(&image.parse().unwrap()).unwrap();
        places.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn without_a_rule_an_image_is_where_it_says() {
        assert_eq!(places(&[], "quay.io/a/b:1"), ["quay.io/a/b:1"]);
    }

    #[test]
    fn mirrors_are_tried_in_order_and_the_source_last() {
        let rules = [
            "quay.io=localhost:5000/quay,mirror.example",
            "quay.io=x.example",
        ];
        assert_eq!(
            places(&rules, "quay.io/a/b:1"),
            [
                "localhost:5000/quay/a/b:1",
                "mirror.example/a/b:1",
                "x.example/a/b:1",
                "quay.io/a/b:1",
            ]
        );
    }

    #[test]
    fn the_source_is_left_out_when_that_was_said() {
        assert_eq!(
            places(&["quay.io=m.example!"], "quay.io/a:1"),
            ["m.example/a:1"]
        );
    }

    #[test]
    fn the_longest_source_counts_and_only_whole_names_match() {
        let rules = ["quay.io=all.example", "quay.io/org=org.example/x"];
        assert_eq!(places(&rules, "quay.io/org/b:1")[0], "org.example/x/b:1");
        assert_eq!(
            places(&rules, "quay.io/organic/b:1")[0],
            "all.example/organic/b:1"
        );
    }

    #[test]
    fn tag_and_digest_stay() {
        let image = format!("nginx:1@sha256:{}", "0".repeat(64));
        assert_eq!(
            places(&["docker.io=m.example/hub"], &image)[0],
            format!("m.example/hub/library/{image}")
        );
    }

    #[test]
    fn a_rule_is_read_from_yaml_in_the_words_of_openshift() {
        let text =
            "source: quay.io\nmirrors: [m.example]\nmirrorSourcePolicy: NeverContactSource\n";
        let rule: Rule = crate::yaml::from_str("mirrors.yaml", text).unwrap();
        assert_eq!(rule, "quay.io=m.example!".parse().unwrap());
    }

    #[rstest]
    #[case("quay.io")]
    #[case("quay.io=")]
    #[case("=m.example")]
    #[case("quay=m.example")]
    #[case("quay.io=Not A Host")]
    #[case("quay.io=https://m.example")]
    fn a_bad_rule_is_refused(#[case] rule: &str) {
        assert!(Mirrors::parse([rule]).is_err());
    }
}
