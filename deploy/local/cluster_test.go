package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func testCluster(t *testing.T) *cluster {
	t.Helper()
	return &cluster{name: "unit", state: t.TempDir()}
}

func TestNamesThatCannotBeANamespaceAreRefused(t *testing.T) {
	for _, name := range []string{"", "Upper", "a_b", "-a", "a-", strings.Repeat("a", 25), "../x"} {
		if _, err := newCluster(name, "", true); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	if _, err := newCluster("dev-2", "", true); err != nil {
		t.Error(err)
	}
}

func TestPortsFollowFromTheNameAndAreAllDifferent(t *testing.T) {
	one, again := testCluster(t), testCluster(t)
	if err := errors.Join(one.choosePorts(), again.choosePorts()); err != nil {
		t.Fatal(err)
	}
	if one.ports != again.ports {
		t.Errorf("%+v is not %+v", one.ports, again.ports)
	}
	seen := map[int]bool{}
	for _, port := range []int{one.ports.API, one.ports.Registry, one.ports.Etcd, one.ports.EtcdPeer, one.ports.Controller, one.ports.Scheduler, one.ports.Simulator} {
		if seen[port] {
			t.Errorf("%d was chosen twice", port)
		}
		seen[port] = true
	}
}

func TestTwoClustersThatComeUpAtOnceInstallPackagesOnce(t *testing.T) {
	if _, err := os.Stat("/usr/lib/cni/bridge"); err != nil {
		t.Skip("the packages of a real node are not on this machine")
	}
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	t.Setenv("FOLDER", folder)
	// Like the real one it refuses to work beside another, and takes a while.
	script := `#!/bin/sh
[ "$1" = install ] || exit 0
/bin/mkdir "$FOLDER/busy" || exit 100
/bin/sleep 0.5
for name in ip nsenter umount iptables containerd ctr runc; do
  : >"$FOLDER/$name"
  /bin/chmod +x "$FOLDER/$name"
done
`
	if err := os.WriteFile(filepath.Join(folder, "apt-get"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	for range 2 {
		c := testCluster(t)
		c.cache = folder
		go func() { ended <- c.ensurePackages() }()
	}
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Error(err)
	}
}

func TestAPortThatSomebodyElseHasIsLeftToThem(t *testing.T) {
	first := testCluster(t)
	if err := first.choosePorts(); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first.ports.API))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	second := testCluster(t)
	if err := second.choosePorts(); err != nil {
		t.Fatal(err)
	}
	if second.ports.API == first.ports.API {
		t.Errorf("%d is taken and was chosen", second.ports.API)
	}
}

func TestAPidFileThatNamesAStrangersProcessProvesNothing(t *testing.T) {
	c := testCluster(t)
	if err := os.MkdirAll(c.path("pids"), 0o755); err != nil {
		t.Fatal(err)
	}
	stranger := exec.Command("sleep", "60")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Process.Kill(); _ = stranger.Wait() }()
	if err := os.WriteFile(c.pidFile("etcd"), fmt.Append(nil, stranger.Process.Pid), 0o644); err != nil {
		t.Fatal(err)
	}
	if pid := c.pid("etcd"); pid != 0 {
		t.Errorf("%d was taken for ours", pid)
	}
	if err := c.endProcesses(); err != nil {
		t.Fatal(err)
	}
	if !running(stranger.Process.Pid) {
		t.Error("a stranger's process was ended")
	}
}

func TestAProcessOfOursIsFoundWithoutItsPidFileAndEndedEvenIfItIgnoresTheSignal(t *testing.T) {
	c := testCluster(t)
	if err := c.start(launch{name: "stubborn", command: []string{"sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"}}); err != nil {
		t.Fatal(err)
	}
	pid := c.pid("stubborn")
	if pid == 0 {
		t.Fatal("it does not run")
	}
	if err := os.Remove(c.pidFile("stubborn")); err != nil {
		t.Fatal(err)
	}
	if err := stop(c.leftovers(), 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if running(pid) {
		t.Error("it still runs")
	}
}

func TestAProcessThatEndsIsReportedWithTheEndOfItsLog(t *testing.T) {
	c := testCluster(t)
	if err := c.start(launch{name: "brief", command: []string{"sh", "-c", "echo the port is taken; exit 1"}}); err != nil {
		t.Fatal(err)
	}
	err := c.awaitProcess("brief", 10*time.Second, func() error { return errors.New("not yet") })
	if err == nil || !strings.Contains(err.Error(), "the port is taken") {
		t.Errorf("got: %v", err)
	}
}

func TestAProcessThatBecomesAnotherProgramIsNotTakenForEnded(t *testing.T) {
	c := testCluster(t)
	for round := range 50 {
		name := fmt.Sprintf("chain-%d", round)
		if err := c.start(launch{name: name, command: []string{"sh", "-c", "exec sh -c 'exec sh -c \"exec sleep 60\"'"}}); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if c.hasEnded(name) || c.pid(name) == 0 {
				t.Fatalf("round %d: taken for ended", round)
			}
		}
	}
	if err := stop(c.leftovers(), time.Second); err != nil {
		t.Fatal(err)
	}
}

func TestOneNameInTwoStateFoldersIsTwoClusters(t *testing.T) {
	if testCluster(t).namespace() == testCluster(t).namespace() {
		t.Error("both have the same network namespace")
	}
}

func TestStrayArgumentsAreRefusedBeforeAnythingIsDone(t *testing.T) {
	for _, command := range []string{"up", "down", "status", "env", "kubeconfig", "build"} {
		var f *failure
		if err := run([]string{command, "dev"}); !errors.As(err, &f) || f.code != 2 {
			t.Errorf("%s dev: %v", command, err)
		}
	}
}

func TestForwardCopiesInBothDirections(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		connection, err := echo.Accept()
		if err == nil {
			_, _ = io.Copy(connection, connection)
			connection.Close()
		}
	}()
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	go func() { _ = copyConnections(front, echo.Addr().String()) }()
	client, err := net.Dial("tcp", front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	// Half-closed: the answer has to arrive all the same.
	_ = client.(*net.TCPConn).CloseWrite()
	answer, err := io.ReadAll(client)
	if err != nil || string(answer) != "hello" {
		t.Errorf("%q, %v", answer, err)
	}
}

func TestTheImageHoldsTheBinaryAndItsConfiguration(t *testing.T) {
	folder := t.TempDir()
	binary, archive := filepath.Join(folder, "program"), filepath.Join(folder, "image.tar")
	if err := os.WriteFile(binary, []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writeImage(archive, "localhost/x:1", binary); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for reader := tar.NewReader(bytes.NewReader(data)); ; {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names[header.Name] = true
	}
	for _, name := range []string{"layer.tar", "config.json", "manifest.json"} {
		if !names[name] {
			t.Errorf("%s is missing", name)
		}
	}
}
