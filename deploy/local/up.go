package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// up brings the cluster up. What an earlier cluster of that name left behind is removed first,
// unless it is up and well.
func (c *cluster) up() error {
	if c.kubeconfig != "" {
		return c.useOwn()
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	wanted := c.withNode
	if c.load() && c.healthy() == nil {
		if c.withNode == wanted {
			say("cluster", "`%s` is up already", c.name)
			return c.tell()
		}
		return &failure{
			message: fmt.Sprintf("`%s` is up, but with other nodes than you ask for", c.name),
			hint:    "take it down first, with everything in it, or choose another --name",
			code:    1,
		}
	}
	c.withNode = wanted
	if err := c.remove(); err != nil {
		return err
	}
	if err := c.raiseOrInterrupt(); err != nil {
		say("cluster", "that failed, taking down what was started")
		if _, err := os.Stat(c.path("log")); err == nil {
			say("cluster", "the logs stay in %s", c.path("log"))
		}
		if cleanup := c.release(); cleanup != nil {
			say("cluster", "%v", cleanup)
		}
		return err
	}
	return c.tell()
}

// raiseOrInterrupt is raise, given up when the person at the keyboard does.
func (c *cluster) raiseOrInterrupt() error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	done := make(chan error, 1)
	go func() { done <- c.raise() }()
	select {
	case err := <-done:
		return err
	case received := <-interrupts:
		c.givenUp.Store(true)
		code := 130
		if received == syscall.SIGTERM {
			code = 143
		}
		return &failure{message: fmt.Sprintf("stopped by %s", received), code: code}
	}
}

func (c *cluster) raise() error {
	if c.withNode {
		if err := c.ensurePackages(); err != nil {
			return err
		}
	} else {
		say("nodes", "simulated ones only: a real node needs root on Linux")
	}
	var err error
	if c.bin, err = c.ensureBinaries(); err != nil {
		return err
	}
	if err := c.choosePorts(); err != nil {
		return err
	}
	if err := os.MkdirAll(c.state, 0o755); err != nil {
		return err
	}
	// Recorded before anything starts, so that a later call knows what to look for.
	if err := c.save(); err != nil {
		return err
	}
	if c.withNode {
		if err := c.makeNetwork(); err != nil {
			return err
		}
		if err := c.startContainerd(); err != nil {
			return err
		}
	}
	if err := c.makeCertificates(); err != nil {
		return err
	}
	if err := c.startRegistry(); err != nil {
		return err
	}
	say("control plane", "starting Kubernetes %s", kubernetesVersion)
	if err := c.startControlPlane(); err != nil {
		return err
	}
	return c.addNodes()
}

func (c *cluster) addNodes() error {
	api, err := c.api()
	if err != nil {
		return err
	}
	if err := c.startSimulator(); err != nil {
		return err
	}
	if err := c.addSimulatedNodes(api); err != nil {
		return err
	}
	if c.withNode {
		say("nodes", "starting a real one with containerd, and %d simulated ones", simulatedNodes)
		if err := c.loadPauseImage(); err != nil {
			return err
		}
		if err := c.startNode(); err != nil {
			return err
		}
	}
	if err := c.awaitNodes(api); err != nil {
		return err
	}
	if err := c.awaitRegistry(); err != nil {
		return err
	}
	// Written last: who finds it finds a cluster that works.
	data, err := os.ReadFile(c.path("pki", "admin.conf"))
	if err != nil {
		return err
	}
	return os.WriteFile(c.kubeconfigPath(), data, 0o600)
}

// useOwn is `up` for a cluster that somebody else runs: it only looks whether it answers.
func (c *cluster) useOwn() error {
	// By the environment: there KUBECONFIG may be a list of files.
	os.Setenv("KUBECONFIG", c.kubeconfig)
	text, err := output(c.kubectlBinary(), "version", "-o", "yaml")
	if err != nil {
		return outside("check the file, or unset KUBECONFIG to start a cluster on this machine", "the cluster of %s does not answer: %v", c.kubeconfig, err)
	}
	_, server, _ := strings.Cut(text, "serverVersion:")
	_, version, _ := strings.Cut(server, "gitVersion: ")
	version, _, _ = strings.Cut(version, "\n")
	say("cluster", "using your own of %s (Kubernetes %s); nothing was started", c.kubeconfig, version)
	return nil
}

// parts are the processes a cluster consists of.
func (c *cluster) parts() []string {
	parts := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "registry"}
	if c.withNode {
		parts = append(parts, "containerd", "kubelet", "kube-proxy", "forward-api", "forward-registry")
	}
	return parts
}

// healthy is nil when every part runs and the API server says that it is ready.
func (c *cluster) healthy() error {
	for _, part := range c.parts() {
		if c.pid(part) == 0 {
			return fmt.Errorf("%s does not run", part)
		}
	}
	api, err := c.api()
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.kubeconfigPath()); err != nil {
		return err
	}
	return api.get("/readyz", nil)
}

func (c *cluster) notUp() error {
	return &failure{message: fmt.Sprintf("cluster `%s` is not up", c.name), hint: "make cluster-up" + c.nameForMake(), code: 1}
}

// nameForMake is what a make command needs to mean this cluster.
func (c *cluster) nameForMake() string {
	if c.name == "dev" {
		return ""
	}
	return " CLUSTER=" + c.name
}

// running takes over the record of a cluster that is up and well.
func (c *cluster) running() error {
	if !c.load() {
		return c.notUp()
	}
	if err := c.healthy(); err != nil {
		return &failure{message: fmt.Sprintf("cluster `%s` is broken: %v", c.name, err), hint: "make cluster-up" + c.nameForMake() + " starts it anew", code: 1}
	}
	return nil
}

func (c *cluster) status() error {
	if c.kubeconfig != "" {
		return c.useOwn()
	}
	if err := c.running(); err != nil {
		return err
	}
	return c.tell()
}

// tell ends every successful `up` and `status`: what a person needs to go on.
func (c *cluster) tell() error {
	say("ready", "API server %s, registry %s", c.server(), c.registry())
	name := c.nameForMake()
	fmt.Fprintf(os.Stderr, "\n  export KUBECONFIG=%s\n  make kubectl%s ARGS=\"get nodes\"\n  make cluster-down%s\n", c.kubeconfigPath(), name, name)
	return nil
}

func (c *cluster) printEnvironment() error {
	if c.kubeconfig == "" {
		if err := c.running(); err != nil {
			return err
		}
	}
	fmt.Printf("KUBECONFIG=%s\nCHANDLER_KUBECTL=%s\n", quoted(c.kubeconfigPath()), quoted(c.kubectlBinary()))
	if c.kubeconfig != "" {
		return nil
	}
	fmt.Printf("CHANDLER_REGISTRY=%s\nCHANDLER_REAL_NODE=%t\n", c.registry(), c.withNode)
	if c.withNode {
		fmt.Printf("CHANDLER_POD_REGISTRY=%s:%d\n", nodeAddress, c.ports.Registry)
	}
	return nil
}

// quoted is a word for a shell.
func quoted(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// kubectlBinary is ours when it is built, else the machine's.
func (c *cluster) kubectlBinary() string {
	if ours := c.bin + "/kubectl"; c.bin != "" {
		// The cache may have been deleted under a running cluster.
		if _, err := os.Stat(ours); err == nil {
			return ours
		}
	}
	if path, err := exec.LookPath("kubectl"); err == nil {
		return path
	}
	if bin, err := c.ensureBinaries(); err == nil {
		return bin + "/kubectl"
	}
	return "kubectl"
}

// kubectl and exec become the command they run, so that signals and exit codes are its own.
func (c *cluster) kubectl(arguments []string) error {
	if c.kubeconfig == "" && !c.load() {
		return c.notUp()
	}
	os.Setenv("KUBECONFIG", c.kubeconfigPath())
	return become(append([]string{c.kubectlBinary()}, arguments...))
}

func (c *cluster) exec(arguments []string) error {
	if len(arguments) == 0 {
		return &failure{message: "exec needs a command", hint: "cluster exec -- curl -k https://" + apiService + "/version", code: 2}
	}
	if c.kubeconfig == "" && !c.load() {
		return c.notUp()
	}
	os.Setenv("KUBECONFIG", c.kubeconfigPath())
	if c.kubeconfig == "" && c.withNode {
		arguments = c.insideNetwork(arguments)
	}
	return become(arguments)
}

func become(command []string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return &failure{message: err.Error(), code: 2}
	}
	return syscall.Exec(path, command, os.Environ())
}
