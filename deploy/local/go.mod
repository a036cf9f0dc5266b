// The local cluster: one command that brings up a real Kubernetes on a bare machine.
// It uses nothing but the standard library, so that it builds in seconds and without a download.
module chandler.local/cluster

go 1.26.0
