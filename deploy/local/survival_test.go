package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These tests run the real thing. They are named apart from the clusters that people use.

func tool(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	command := exec.Command("./cluster", arguments...)
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

// tracesBefore are files outside of our folders that others may have left: how many there were.
var tracesBefore = map[string]int{}

func TestMain(m *testing.M) {
	for _, pattern := range []string{"/var/lib/cni/results/pods-*", "/run/containerd/runc/k8s.io/*"} {
		found, _ := filepath.Glob(pattern)
		tracesBefore[pattern] = len(found)
	}
	os.Exit(m.Run())
}

// startsClusters skips a test where the user's own cluster takes the place of ours.
func startsClusters(t *testing.T) {
	t.Helper()
	if os.Getenv("KUBECONFIG") != "" {
		t.Skip("KUBECONFIG names your own cluster: nothing is started")
	}
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
	for _, pattern := range []string{"/var/lib/cni/results/pods-*", "/run/containerd/runc/k8s.io/*"} {
		if found, _ := filepath.Glob(pattern); len(found) > tracesBefore[pattern] {
			t.Errorf("%s has %d files, and had %d", pattern, len(found), tracesBefore[pattern])
		}
	}
	for _, path := range []string{c.state, "/run/netns/" + c.namespace(), controlGroups + "/memory/" + c.namespace(), controlGroups + "/" + c.namespace()} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
}

func TestAClusterSurvivesBeingCalledTwiceAndBeingKilledAndGoesWithoutATrace(t *testing.T) {
	startsClusters(t)
	const name = "survival"
	// By way of a link, as many a home folder is: the kernel knows the mounts by another path.
	folder, err := os.MkdirTemp("", "chandler")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	precious := filepath.Join(folder, "precious")
	if err := errors.Join(
		os.Mkdir(filepath.Join(folder, "state"), 0o755),
		os.Symlink(filepath.Join(folder, "state"), filepath.Join(folder, "link")),
		os.MkdirAll(filepath.Join(precious, "data"), 0o755),
		os.WriteFile(filepath.Join(precious, "data", "file"), []byte("somebody's"), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CHANDLER_STATE", filepath.Join(folder, "link"))
	t.Cleanup(func() { mustTool(t, "down", "--name", name); leavesNothing(t, name) })
	mustTool(t, "up", "--name", name)
	if text := mustTool(t, "up", "--name", name); !strings.Contains(text, "is up already") {
		t.Errorf("the second call said:\n%s", text)
	}
	// A pod that runs is the hardest thing to clean up after.
	// And a folder of the machine that is mounted into it must not be cleaned up.
	manifest := filepath.Join(folder, "sleeper.yaml")
	if err := os.WriteFile(manifest, fmt.Appendf(nil, sleeper, pauseImage, precious), 0o644); err != nil {
		t.Fatal(err)
	}
	mustTool(t, "kubectl", "--name", name, "--", "apply", "-f", manifest)
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
	if data, err := os.ReadFile(filepath.Join(precious, "data", "file")); err != nil || string(data) != "somebody's" {
		t.Errorf("a file of the machine was touched: %q, %v", data, err)
	}
	// What `up` tells people to export means this cluster, and `down` must not take it for theirs.
	t.Setenv("KUBECONFIG", c.kubeconfigPath())
	mustTool(t, "kubectl", "--name", name, "--", "get", "nodes")
}

const sleeper = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: sleeper}
spec:
  selector: {matchLabels: {app: sleeper}}
  template:
    metadata: {labels: {app: sleeper}}
    spec:
      containers:
      - name: sleeper
        image: %s
        volumeMounts: [{name: host, mountPath: /data, subPath: data}]
      volumes: [{name: host, hostPath: {path: %s}}]
`

func TestSoakAClusterKilledAtAnyMomentOfItsStartStartsAnew(t *testing.T) {
	if os.Getenv("CHANDLER_SOAK") == "" {
		t.Skip("only in `make soak`")
	}
	startsClusters(t)
	const name = "soak"
	t.Cleanup(func() { mustTool(t, "down", "--name", name); leavesNothing(t, name) })
	for round := range 20 {
		command := exec.Command("./cluster", "up", "--name", name)
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
	startsClusters(t)
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
