//! What can be there at all: an operator may ask for anything.

use crate::api::gvk::GroupVersionKind;
use crate::bundle::lint::names::why_no_subdomain;

/// Whether an object can be called like this. The API server answers no question about one that cannot.
pub fn is_name(name: &str) -> bool {
    why_no_subdomain(name).is_none()
}

/// Whether there can be an APIService for an API; for those of the core group there is one, too.
pub fn can_be_served(gvk: &GroupVersionKind) -> bool {
    let is_version = is_name(&gvk.version) && !gvk.version.contains('.');
    is_version && (gvk.group.is_empty() || is_name(&gvk.group))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::usual("apps.example.com", "v1beta1", true)]
    #[case::core("", "v1", true)]
    #[case::nothing("", "", false)]
    #[case::no_version("apps.example.com", "", false)]
    #[case::a_space("apps example", "v1", false)]
    #[case::an_upper_letter("apps", "V1", false)]
    #[case::a_path("apps", "v1/..", false)]
    #[case::a_question("apps?watch=true", "v1", false)]
    #[case::parts("apps", "v1.2", false)]
    fn an_api_can_be_served_if_kubernetes_takes_its_name(
        #[case] group: &str,
        #[case] version: &str,
        #[case] expected: bool,
    ) {
        let gvk = GroupVersionKind::new(group, version, "Gopher");
        assert_eq!(can_be_served(&gvk), expected);
    }
}
