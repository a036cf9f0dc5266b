package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// marker is an environment variable that every process of a cluster carries, and hands on to its
// children. It finds them again after a crash, when pid files are stale or lost: a process that
// carries it with this cluster's folder was started by us.
const marker = "CHANDLER_LOCAL_CLUSTER_STATE"

// launch describes a process of the cluster.
type launch struct {
	name    string
	command []string
	inside  bool // in the cluster's network namespace
	files   []*os.File
}

// start runs a process that outlives us, with its output in log/NAME.log.
func (c *cluster) start(l launch) error {
	if c.givenUp.Load() {
		return errors.New("given up")
	}
	command := l.command
	if l.inside && c.withNode {
		command = c.insideNetwork(command)
	}
	for _, folder := range []string{"log", "pids"} {
		if err := os.MkdirAll(c.path(folder), 0o755); err != nil {
			return err
		}
	}
	output, err := os.OpenFile(c.logFile(l.name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer output.Close()
	process := exec.Command(command[0], command[1:]...)
	process.Dir = c.state
	process.Env = append(os.Environ(), marker+"="+c.state)
	if os.Getenv("GOGC") == "" {
		// An eighth of the API server's work would be to collect garbage.
		process.Env = append(process.Env, "GOGC=300")
	}
	process.Stdout, process.Stderr = output, output
	process.ExtraFiles = l.files
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := process.Start(); err != nil {
		return outside("", "cannot start %s: %v", l.name, err)
	}
	// Reaped when it ends while we live, and remembered: nobody knows it more surely.
	c.started.Store(l.name, false)
	go func() {
		_ = process.Wait()
		c.started.Store(l.name, true)
	}()
	return os.WriteFile(c.pidFile(l.name), []byte(strconv.Itoa(process.Process.Pid)), 0o644)
}

func (c *cluster) pidFile(name string) string { return c.path("pids", name) }
func (c *cluster) logFile(name string) string { return c.path("log", name+".log") }

// pid is the id of a process of ours that runs, or 0. A pid file alone proves nothing: ids are
// used again, and so the process has to carry our marker.
func (c *cluster) pid(name string) int {
	data, err := os.ReadFile(c.pidFile(name))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || !c.isOurs(pid) {
		return 0
	}
	return pid
}

// hasEnded tells whether a process of ours does not run.
func (c *cluster) hasEnded(name string) bool {
	if ended, ok := c.started.Load(name); ok {
		return ended.(bool)
	}
	return c.pid(name) == 0
}

func (c *cluster) isOurs(pid int) bool {
	// While a process becomes another program it has no environment for a moment. Threads of the
	// kernel never have one.
	for range 100 {
		environ, err := readAtOnce(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && len(environ) > 0 {
			return bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+marker+"="+c.state+"\x00"))
		}
		if err != nil || !running(pid) || isKernelThread(pid) {
			return false
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false
}

// readAtOnce reads a file of /proc by a single call: between two, the process may have become
// another program, and the rest of what it was be gone.
func readAtOnce(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	buffer := make([]byte, 1<<20)
	count, err := file.Read(buffer)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buffer[:count], err
}

// isKernelThread looks at a flag of the process (PF_KTHREAD).
func isKernelThread(pid int) bool {
	const kernelThread = 0x00200000
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The fields after the command's name: state, parent, group, session, terminal, its group, flags.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 7 {
		return false
	}
	flags, err := strconv.ParseUint(string(fields[6]), 10, 64)
	return err == nil && flags&kernelThread != 0
}

// leftovers are all running processes of this cluster, whoever started them.
func (c *cluster) leftovers() []int {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(filepath.Base(entry)); err == nil && pid != os.Getpid() && c.isOurs(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stop ends processes by id: a polite signal, then, when they are still there, a plain one.
func stop(pids []int, patience time.Duration) error {
	signal := func(s syscall.Signal) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, s)
		}
	}
	gone := func() error {
		for _, pid := range pids {
			if running(pid) {
				return fmt.Errorf("process %d does not end", pid)
			}
		}
		return nil
	}
	signal(syscall.SIGTERM)
	if await(patience, gone) == nil {
		return nil
	}
	signal(syscall.SIGKILL)
	return await(5*time.Second, gone)
}

// running is false for a zombie too: it holds nothing but its id.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	// The state follows the command's name, which stands in parentheses and may hold anything.
	after := stat[bytes.LastIndexByte(stat, ')')+1:]
	return !bytes.HasPrefix(bytes.TrimSpace(after), []byte("Z"))
}

// tail is the end of a process's log, for the person who has to find out what went wrong.
func (c *cluster) tail(name string) string {
	data, err := os.ReadFile(c.logFile(name))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) > 12 {
		lines = lines[len(lines)-12:]
	}
	return strings.Join(lines, "\n  ")
}

// output runs a short command to its end and gives what it printed; on failure the error says it.
func output(command ...string) (string, error) {
	data, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("`%s` failed: %v: %s", strings.Join(command, " "), err, strings.TrimSpace(string(data)))
	}
	return string(data), nil
}
