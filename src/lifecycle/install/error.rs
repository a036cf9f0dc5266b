//! Why an operator cannot be installed.

use thiserror::Error;

use super::conversion::ConversionError;

/// Why it cannot be told what an installation consists of; trying again does not help.
///
/// Where OLM has a sentence of its own, ours begins with it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InstallError {
    /// The strategy is none that anybody knows.
    #[error(
        "unrecognized install strategy {strategy:?}: spec.install.strategy has to be `deployment`; ask \
         the operator's authors to mend it"
    )]
    Strategy {
        /// What it says.
        strategy: String,
    },
    /// A webhook or APIService names a Deployment that the strategy does not have.
    #[error(
        "strategyDetailsDeployment is missing deployment {deployment} for {of}: name one of \
         spec.install.spec.deployments; ask the operator's authors to mend it"
    )]
    NoDeployment {
        /// The name.
        deployment: String,
        /// Who names it.
        of: String,
    },
    /// A Deployment that others call has no labels to be found by.
    #[error(
        "deployment {deployment} needs spec.selector.matchLabels, since a Service is put before it for \
         its webhooks or APIServices; ask the operator's authors to mend it"
    )]
    NoSelector {
        /// The Deployment.
        deployment: String,
    },
    /// The selector of a Subscription's configuration makes no sense.
    #[error(
        "spec.config.selector of the Subscription cannot be understood: {problem}: correct it, or leave \
         it out to adjust every Deployment of the operator"
    )]
    ConfigSelector {
        /// What is wrong.
        problem: String,
    },
    /// A conversion webhook cannot be.
    #[error(transparent)]
    Conversion(#[from] ConversionError),
}
