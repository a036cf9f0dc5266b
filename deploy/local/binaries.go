package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// module is a pinned Go module under build/ and the commands that come out of it.
type module struct {
	folder   string
	label    string
	packages []string          // each becomes a binary named after its last element
	renamed  map[string]string // binary → package, where that name would be wrong
	ldflags  string
	tags     string
}

const kubernetesVersion = "v1.35.8"

var modules = []module{
	{
		folder: "build/kubernetes",
		label:  "Kubernetes " + kubernetesVersion,
		packages: []string{
			"k8s.io/kubernetes/cmd/kube-apiserver",
			"k8s.io/kubernetes/cmd/kube-controller-manager",
			"k8s.io/kubernetes/cmd/kube-scheduler",
			"k8s.io/kubernetes/cmd/kubelet",
			"k8s.io/kubernetes/cmd/kube-proxy",
			"k8s.io/kubernetes/cmd/kubectl",
		},
		renamed: map[string]string{"etcd": "go.etcd.io/etcd/server/v3"},
		ldflags: "-s -w -X k8s.io/component-base/version.gitVersion=" + kubernetesVersion,
	},
	{folder: "build/registry", label: "OCI registry", packages: []string{"./registry"}, ldflags: "-s -w"},
	{folder: "build/kwok", label: "node simulator", packages: []string{"sigs.k8s.io/kwok/cmd/kwok"}, ldflags: "-s -w"},
	{folder: ".", label: "pause", renamed: map[string]string{"pause": "./pause"}, ldflags: "-s -w"},
}

// tools are built only when somebody asks for them.
var tools = map[string]module{
	"opm": {
		folder:   "build/opm",
		label:    "opm",
		packages: []string{"github.com/operator-framework/operator-registry/cmd/opm"},
		ldflags:  "-s -w",
		// Without these it needs C libraries for signatures and sqlite.
		tags: "containers_image_openpgp,json1",
	},
	"kubectl-operator": {
		folder:   "build/kubectl-operator",
		label:    "kubectl operator",
		packages: []string{"github.com/operator-framework/kubectl-operator"},
		ldflags:  "-s -w",
		tags:     "containers_image_openpgp",
	},
}

// tool builds one of the tools and prints its path.
func (c *cluster) tool(arguments []string) error {
	var known []string
	for name := range tools {
		known = append(known, name)
	}
	if len(arguments) != 1 || tools[arguments[0]].folder == "" {
		return &failure{message: "name one tool", hint: "there is " + strings.Join(known, ", "), code: 2}
	}
	name := arguments[0]
	folder, err := c.ensureModules([]module{tools[name]})
	if err != nil {
		return err
	}
	fmt.Println(filepath.Join(folder, name))
	return nil
}

// ensureBinaries builds what a cluster needs, and gives the folder that holds all of it.
func (c *cluster) ensureBinaries() (string, error) { return c.ensureModules(modules) }

// ensureModules builds what is missing and gives the folder that holds all of it. That folder is
// named after everything that goes into it, so that another version is another folder.
func (c *cluster) ensureModules(modules []module) (string, error) {
	key := sha256.New()
	for _, m := range modules {
		fmt.Fprintln(key, m)
		for _, file := range []string{"go.mod", "go.sum", "pause/main.go", "registry/main.go"} {
			data, _ := os.ReadFile(filepath.Join(c.sources, m.folder, file))
			key.Write(data)
		}
	}
	folder := filepath.Join(c.cache, "bin", fmt.Sprintf("%x", key.Sum(nil))[:16])
	if _, err := os.Stat(filepath.Join(folder, "complete")); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	// Two first calls would build the same files.
	unlock, err := lockFile(folder+".lock", "another call builds the same")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(filepath.Join(folder, "complete")); err == nil {
		return folder, nil
	}
	say("binaries", "building once, into %s; the first time takes minutes", folder)
	for _, m := range modules {
		if err := c.build(m, folder); err != nil {
			return "", err
		}
	}
	return folder, os.WriteFile(filepath.Join(folder, "complete"), nil, 0o644)
}

func (c *cluster) build(m module, folder string) error {
	say("binaries", "building %s", m.label)
	targets := map[string]string{}
	for _, p := range m.packages {
		targets[filepath.Base(p)] = p
	}
	for name, p := range m.renamed {
		targets[name] = p
	}
	directory := filepath.Join(c.sources, m.folder)
	var compiled atomic.Int64
	stop := heartbeat("binaries", func() string {
		return fmt.Sprintf("building %s: %d packages compiled", m.label, compiled.Load())
	})
	defer stop()
	count := func() { compiled.Add(1) }
	// All packages that keep their name go into one call, which compiles and links side by side.
	if len(m.packages) > 0 {
		if err := goBuild(directory, m, folder+string(filepath.Separator), m.packages, count); err != nil {
			return err
		}
	}
	for name, p := range m.renamed {
		if err := goBuild(directory, m, filepath.Join(folder, name), []string{p}, count); err != nil {
			return err
		}
	}
	for name := range targets {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return outside("", "building %s left no binary `%s`", m.label, name)
		}
	}
	return nil
}

func goBuild(directory string, m module, target string, packages []string, each func()) error {
	arguments := append([]string{"build", "-v", "-mod=readonly", "-buildvcs=false", "-tags", m.tags, "-ldflags", m.ldflags, "-o", target}, packages...)
	command := exec.Command("go", arguments...)
	command.Dir = directory
	// Static, so that the pause program runs in an image that holds nothing else.
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if os.Getenv("GOGC") == "" {
		// Short-lived compilers with memory to spare need not collect garbage so often.
		command.Env = append(command.Env, "GOGC=400")
	}
	messages, err := command.StderrPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return outside("install Go 1.26 or newer", "cannot run go: %v", err)
	}
	// go prints a line for each package that it compiles, and its errors among them.
	var errorsSeen []string
	lines := bufio.NewReader(messages)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			switch {
			case strings.HasPrefix(line, "go: downloading"):
			case strings.ContainsAny(line, " :"):
				errorsSeen = append(errorsSeen, line)
			default:
				each()
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if err := command.Wait(); err != nil {
		return outside("check that the Go module proxy can be reached (`go env GOPROXY`), then run the same command again; what is compiled stays cached",
			"go build in %s failed: %v\n  %s", directory, err, strings.Join(errorsSeen, "\n  "))
	}
	return nil
}
