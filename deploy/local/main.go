// Command cluster runs a real Kubernetes on this machine for development and tests.
//
//	up         bring a cluster up, or say that it is up already
//	down       stop it and remove everything it left
//	status     what runs, and where
//	kubectl    kubectl on that cluster
//	exec       run a command inside the cluster's network
//	kubeconfig print the path of its kubeconfig
//	env        print what a shell or a test needs to reach it
//	build      only build the binaries
//	tool       build a peer or a client that some tests use, and print where it is
//	bin        build the binaries and print their folder
//
// As root on Linux the cluster lives in a network namespace of its own and has one real node
// (kubelet, containerd) beside simulated ones. Without root it has simulated nodes only.
// With KUBECONFIG or --kubeconfig the user's own cluster takes its place.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
)

const usage = `Runs a real Kubernetes on this machine for development and tests

Usage: deploy/local/cluster COMMAND [--name NAME] [--kubeconfig FILE] [--no-node] [-- ARGS]

Commands:
  up          Bring the cluster up, or say that it is up already
  down        Stop the cluster and remove everything it left on the machine
  status      Say what runs, and where; exits 1 when the cluster is not up
  kubectl     Run kubectl on the cluster: cluster kubectl -- get nodes
  exec        Run a command inside the cluster's network: cluster exec -- curl -k https://198.19.0.1/version
  kubeconfig  Print the path of the cluster's kubeconfig
  env         Print, as shell variables, what a test needs to reach the cluster
  build       Only build the binaries
  tool NAME   Build a program that some tests use (opm, kubectl-operator), and print its path
  bin         Build the binaries if need be, and print their folder

Options:
  --name NAME        Which cluster; several can run side by side [env: CHANDLER_CLUSTER] [default: dev]
  --kubeconfig FILE  Use this cluster instead of starting one [env: KUBECONFIG]
  --no-node          Leave the real node out, as happens without root
`

// failure is an error that knows what to do about it and how the process should end.
type failure struct {
	message string
	hint    string
	code    int
}

func (f *failure) Error() string { return f.message }

// outside is a failure of something outside this program: exit code 3.
func outside(hint, format string, args ...any) error {
	return &failure{message: fmt.Sprintf(format, args...), hint: hint, code: 3}
}

func main() {
	err := run(os.Args[1:])
	if err == nil {
		return
	}
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{message: err.Error(), code: 3}
	}
	if f.message != "" {
		fmt.Fprintln(os.Stderr, "error:", f.message)
	}
	if f.hint != "" {
		fmt.Fprintln(os.Stderr, "hint:", f.hint)
	}
	os.Exit(f.code)
}

func run(arguments []string) error {
	if len(arguments) == 0 || arguments[0] == "help" || arguments[0] == "--help" || arguments[0] == "-h" {
		fmt.Print(usage)
		return nil
	}
	command := arguments[0]
	if command == "forward" {
		return forward(arguments[1:])
	}
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.Usage = func() {}
	name := flags.String("name", environment("CHANDLER_CLUSTER", "dev"), "")
	kubeconfig := flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "")
	noNode := flags.Bool("no-node", os.Getenv("CHANDLER_NO_NODE") != "", "")
	switch err := flags.Parse(arguments[1:]); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
		return nil
	case err != nil:
		return &failure{code: 2}
	}
	takesArguments := command == "kubectl" || command == "exec" || command == "tool"
	if flags.NArg() > 0 && !takesArguments {
		return &failure{message: fmt.Sprintf("`%s` takes no argument `%s`", command, flags.Arg(0)), hint: "to name a cluster, write --name " + flags.Arg(0), code: 2}
	}
	// A plain `su` leaves these out, and what a node needs is there.
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin")
	if runtime.GOOS != "linux" && *kubeconfig == "" {
		return outside("set KUBECONFIG to a cluster of your own",
			"the local cluster needs Linux, and this is %s", runtime.GOOS)
	}
	cluster, err := newCluster(*name, *kubeconfig, *noNode)
	if err != nil {
		return err
	}
	switch command {
	case "up":
		return cluster.up()
	case "down":
		return cluster.down()
	case "status":
		return cluster.status()
	case "kubectl":
		return cluster.kubectl(flags.Args())
	case "exec":
		return cluster.exec(flags.Args())
	case "kubeconfig":
		fmt.Println(cluster.kubeconfigPath())
		return nil
	case "env":
		return cluster.printEnvironment()
	case "build":
		_, err := cluster.ensureBinaries()
		return err
	case "tool":
		return cluster.tool(flags.Args())
	case "bin":
		folder, err := cluster.ensureBinaries()
		if err == nil {
			fmt.Println(folder)
		}
		return err
	}
	fmt.Fprint(os.Stderr, usage)
	return &failure{message: fmt.Sprintf("there is no command `%s`", command), code: 2}
}

func environment(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
