//! `chandler deploy`

/// Arguments of `chandler deploy`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Deploy {
    /// The image of Chandler, as the cluster's nodes can pull it
    #[arg(long, value_name = "IMAGE")]
    pub(in crate::cli) image: String,
    /// The namespace to run in
    #[arg(short, long, default_value = "chandler-system")]
    pub(in crate::cli) namespace: String,
    /// Also the namespace `operators` with an OperatorGroup for the whole cluster, as OperatorHub.io's
    /// install commands expect it
    ///
    /// No cluster takes an OperatorGroup before it knows what that is: in a new one, apply the output of
    /// `chandler crds` first.
    #[arg(long)]
    pub(in crate::cli) with_operators: bool,
    /// Further arguments of `chandler run`, such as `--plain-http=registry.local:5000`
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub(in crate::cli) run_argument: Vec<String>,
}
