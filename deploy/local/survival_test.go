package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These tests run the real thing. They are named apart from the clusters that people use.

func tool(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	command := exec.Command("./cluster", arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG=")
	data, err := command.CombinedOutput()
	return string(data), err
}

func mustTool(t *testing.T, arguments ...string) string {
	t.Helper()
	text, err := tool(t, arguments...)
	if err != nil {
		t.Fatalf("cluster %s: %v\n%s", strings.Join(arguments, " "), err, text)
	}
	return text
}

// leavesNothing looks for everything a cluster could have left on the machine.
func leavesNothing(t *testing.T, name string) {
	t.Helper()
	c, err := newCluster(name, "", false)
	if err != nil {
		t.Fatal(err)
	}
	if pids := c.leftovers(); len(pids) > 0 {
		t.Errorf("processes are left: %v", pids)
	}
	if pids := c.podProcesses(); len(pids) > 0 {
		t.Errorf("processes of pods are left: %v", pids)
	}
	if mounts, err := c.mounts(); err != nil || len(mounts) > 0 {
		t.Errorf("mounts are left: %v (%v)", mounts, err)
	}
	for _, path := range []string{c.state, "/run/netns/" + c.namespace(), controlGroups + "/memory/" + c.namespace(), controlGroups + "/" + c.namespace()} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
}

func TestAClusterSurvivesBeingCalledTwiceAndBeingKilledAndGoesWithoutATrace(t *testing.T) {
	const name = "survival"
	t.Cleanup(func() { mustTool(t, "down", "--name", name); leavesNothing(t, name) })
	mustTool(t, "up", "--name", name)
	if text := mustTool(t, "up", "--name", name); !strings.Contains(text, "is up already") {
		t.Errorf("the second call said:\n%s", text)
	}
	// A pod that runs is the hardest thing to clean up after.
	mustTool(t, "kubectl", "--name", name, "--", "create", "deployment", "sleeper", "--image="+pauseImage)
	mustTool(t, "kubectl", "--name", name, "--", "rollout", "status", "deployment/sleeper", "--timeout=60s")
	c, err := newCluster(name, "", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range c.leftovers() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if text, err := tool(t, "status", "--name", name); err == nil {
		t.Errorf("a killed cluster is said to be well:\n%s", text)
	}
	mustTool(t, "up", "--name", name)
	mustTool(t, "kubectl", "--name", name, "--", "get", "nodes")
}

func TestSoakAClusterKilledAtAnyMomentOfItsStartStartsAnew(t *testing.T) {
	if os.Getenv("CHANDLER_SOAK") == "" {
		t.Skip("only in `make soak`")
	}
	const name = "soak"
	t.Cleanup(func() { mustTool(t, "down", "--name", name); leavesNothing(t, name) })
	for round := range 20 {
		command := exec.Command("./cluster", "up", "--name", name)
		command.Env = append(os.Environ(), "KUBECONFIG=")
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		// Any moment of the start, and a few after it.
		time.Sleep(time.Duration(rand.IntN(12_000)) * time.Millisecond)
		_ = command.Process.Kill()
		_ = command.Wait()
		if round%2 == 0 {
			mustTool(t, "down", "--name", name)
			leavesNothing(t, name)
		}
	}
	mustTool(t, "up", "--name", name)
}

func TestSoakTwoClustersRunSideBySide(t *testing.T) {
	if os.Getenv("CHANDLER_SOAK") == "" {
		t.Skip("only in `make soak`")
	}
	names := []string{"left", "right"}
	t.Cleanup(func() {
		for _, name := range names {
			mustTool(t, "down", "--name", name)
			leavesNothing(t, name)
		}
	})
	for _, name := range names {
		mustTool(t, "up", "--name", name)
	}
	for _, name := range names {
		mustTool(t, "kubectl", "--name", name, "--", "create", "namespace", "only-"+name)
	}
	for i, name := range names {
		text := mustTool(t, "kubectl", "--name", name, "--", "get", "namespaces", "-o", "name")
		if !strings.Contains(text, "only-"+name) || strings.Contains(text, "only-"+names[1-i]) {
			t.Errorf("%s has:\n%s", name, text)
		}
	}
}
