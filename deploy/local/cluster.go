package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Addresses inside the cluster's network namespace. All are set aside for documentation and
// benchmarks (RFC 5737, RFC 2544), so that none can belong to somebody's network.
const (
	nodeAddress    = "192.0.2.10"
	nodeGateway    = "192.0.2.1"
	nodeNetwork    = 24
	podNetwork     = "198.18.0.0/24"
	fakePods       = "198.18.128.1/17"
	fakeNode       = "192.0.2.200"
	serviceNetwork = "198.19.0.0/20"
	apiService     = "198.19.0.1"
	dnsService     = "198.19.0.10"
)

// cluster is one local cluster and where its things are.
type cluster struct {
	name       string
	state      string // everything that this cluster owns on disk
	cache      string // binaries, shared by all clusters, may be deleted at any time
	sources    string // this folder, with the pinned modules under build/
	kubeconfig string // the user's own cluster, when not empty
	withNode   bool   // a network namespace of its own, with a real kubelet and containerd
	ports      ports
	bin        string
	givenUp    atomic.Bool // interrupted: nothing more is to be started
	started    sync.Map    // name of a process that this call started → whether it has ended
}

// ports are the same inside the cluster's network and on the machine's loopback, so that one
// kubeconfig and one image reference are right in both places.
type ports struct {
	API        int `json:"api"`
	Registry   int `json:"registry"`
	Etcd       int `json:"etcd"`
	EtcdPeer   int `json:"etcdPeer"`
	Controller int `json:"controller"`
	Scheduler  int `json:"scheduler"`
	Simulator  int `json:"simulator"`
}

var clusterName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,22}[a-z0-9])?$`)

func newCluster(name, kubeconfig string, noNode bool) (*cluster, error) {
	if !clusterName.MatchString(name) {
		return nil, &failure{
			message: fmt.Sprintf("`%s` is no name for a cluster", name),
			hint:    "use at most 24 lower-case letters, digits and dashes",
			code:    2,
		}
	}
	// Only needed where nothing else says where things are.
	home, _ := os.UserHomeDir()
	if home == "" && os.Getenv("CHANDLER_STATE") == "" && os.Getenv("XDG_STATE_HOME") == "" {
		return nil, outside("set HOME, or CHANDLER_STATE to a folder you may write to", "nothing says where to keep the cluster")
	}
	state, err := resolved(environment("CHANDLER_STATE", filepath.Join(environment("XDG_STATE_HOME", filepath.Join(home, ".local", "state")), "chandler")))
	if err != nil {
		return nil, err
	}
	cache, err := resolved(environment("CHANDLER_CACHE", filepath.Join(environment("XDG_CACHE_HOME", filepath.Join(home, ".cache")), "chandler")))
	if err != nil {
		return nil, err
	}
	// Somebody who exported what `up` printed means a cluster of ours, not one of their own.
	if file, err := filepath.EvalSymlinks(kubeconfig); err == nil && strings.HasPrefix(file, state+string(filepath.Separator)) {
		kubeconfig = ""
	}
	c := &cluster{
		name:       name,
		state:      filepath.Join(state, "clusters", name),
		cache:      cache,
		sources:    os.Getenv("CHANDLER_LOCAL_SOURCES"),
		kubeconfig: kubeconfig,
	}
	c.withNode = os.Geteuid() == 0 && !noNode
	// A socket's path is limited to 107 bytes by the kernel, and containerd's is the longest of ours.
	if c.withNode && len(c.path("containerd", "containerd.sock")) > 100 {
		return nil, outside("set CHANDLER_STATE to a folder with a short path", "the path %s is too long for a socket", c.state)
	}
	return c, nil
}

// resolved makes a folder and gives its path without links: the kernel's table of mounts knows no
// other, and what is not found there would not be unmounted before it is deleted.
func resolved(folder string) (string, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(absolute, 0o755); err != nil {
		return "", outside("set CHANDLER_STATE and CHANDLER_CACHE to folders that you may write to", "%v", err)
	}
	return filepath.EvalSymlinks(absolute)
}

func (c *cluster) path(parts ...string) string {
	return filepath.Join(append([]string{c.state}, parts...)...)
}

func (c *cluster) kubeconfigPath() string {
	if c.kubeconfig != "" {
		return c.kubeconfig
	}
	return c.path("kubeconfig")
}

func (c *cluster) server() string   { return fmt.Sprintf("https://127.0.0.1:%d", c.ports.API) }
func (c *cluster) registry() string { return fmt.Sprintf("127.0.0.1:%d", c.ports.Registry) }

// lock keeps two calls for the same cluster apart; the kernel releases it if we are killed.
func (c *cluster) lock() (func(), error) {
	if err := os.MkdirAll(filepath.Dir(c.state), 0o755); err != nil {
		return nil, err
	}
	return lockFile(c.state+".lock", fmt.Sprintf("another call works on cluster `%s`", c.name))
}

func lockFile(path, otherwise string) (func(), error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		say("waiting", "%s", otherwise)
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
			return nil, err
		}
	}
	return func() { file.Close() }, nil
}

// record is what a running cluster leaves on disk for later calls.
type record struct {
	Ports    ports  `json:"ports"`
	WithNode bool   `json:"withNode"`
	Bin      string `json:"bin"`
}

func (c *cluster) save() error {
	data, err := json.MarshalIndent(record{c.ports, c.withNode, c.bin}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.path("cluster.json"), append(data, '\n'), 0o644)
}

// load takes over what an earlier call recorded; false when there is nothing (readable) there.
func (c *cluster) load() bool {
	data, err := os.ReadFile(c.path("cluster.json"))
	if err != nil {
		return false
	}
	var r record
	if json.Unmarshal(data, &r) != nil {
		return false
	}
	c.ports, c.withNode, c.bin = r.Ports, r.WithNode, r.Bin
	return true
}

// choosePorts prefers ports that follow from the cluster's name, so that they stay the same from
// one start to the next, and takes any free one where somebody else has that.
func (c *cluster) choosePorts() error {
	h := fnv.New32a()
	h.Write([]byte(c.name))
	preferred := 16000 + int(h.Sum32()%1400)*10
	for _, port := range []*int{&c.ports.API, &c.ports.Registry, &c.ports.Etcd, &c.ports.EtcdPeer, &c.ports.Controller, &c.ports.Scheduler, &c.ports.Simulator} {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", preferred))
		if err != nil {
			say("ports", "%d is taken, choosing another", preferred)
			if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				return outside("", "no free port on the loopback address: %v", err)
			}
		}
		*port = listener.Addr().(*net.TCPAddr).Port
		// Held until all are chosen, so that no two are the same.
		defer listener.Close()
		preferred++
	}
	return nil
}

// await polls a condition until it holds or the deadline passes.
func await(deadline time.Duration, condition func() error) error {
	end := time.Now().Add(deadline)
	for {
		err := condition()
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}
