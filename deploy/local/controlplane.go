package main

import (
	"fmt"
	"os"
	"time"
)

// startControlPlane runs etcd, the API server, the controller manager and the scheduler, and waits
// until the API server is ready.
func (c *cluster) startControlPlane() error {
	if err := c.startEtcd(); err != nil {
		return err
	}
	if err := c.startAPIServer(); err != nil {
		return err
	}
	if c.withNode {
		if err := c.publish("api", c.ports.API); err != nil {
			return err
		}
	}
	api, err := c.api()
	if err != nil {
		return err
	}
	if err := c.awaitProcess("kube-apiserver", 2*time.Minute, func() error { return api.get("/readyz", nil) }); err != nil {
		return err
	}
	if err := c.start(launch{name: "kube-controller-manager", inside: true, command: []string{c.bin + "/kube-controller-manager",
		"--kubeconfig=pki/controller-manager.conf",
		"--authentication-kubeconfig=pki/controller-manager.conf",
		"--authorization-kubeconfig=pki/controller-manager.conf",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.ports.Controller),
		"--service-account-private-key-file=pki/service-accounts.key", "--root-ca-file=pki/ca.crt",
		"--cluster-signing-cert-file=pki/ca.crt", "--cluster-signing-key-file=pki/ca.key",
		"--use-service-account-credentials", "--leader-elect=false",
	}}); err != nil {
		return err
	}
	return c.start(launch{name: "kube-scheduler", inside: true, command: []string{c.bin + "/kube-scheduler",
		"--kubeconfig=pki/scheduler.conf",
		"--authentication-kubeconfig=pki/scheduler.conf",
		"--authorization-kubeconfig=pki/scheduler.conf",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.ports.Scheduler),
		"--leader-elect=false",
	}})
}

func (c *cluster) startEtcd() error {
	if err := os.MkdirAll(c.path("etcd"), 0o700); err != nil {
		return err
	}
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", c.ports.Etcd), fmt.Sprintf("http://127.0.0.1:%d", c.ports.EtcdPeer)
	return c.start(launch{name: "etcd", inside: true, command: []string{c.bin + "/etcd",
		"--data-dir=etcd", "--log-level=warn",
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		// A local cluster is made anew after a crash, and so it need not wait for the disk.
		"--unsafe-no-fsync",
	}})
}

func (c *cluster) startAPIServer() error {
	arguments := []string{c.bin + "/kube-apiserver",
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", c.ports.Etcd),
		fmt.Sprintf("--secure-port=%d", c.ports.API), "--advertise-address=" + nodeAddress,
		"--tls-cert-file=pki/apiserver.crt", "--tls-private-key-file=pki/apiserver.key", "--client-ca-file=pki/ca.crt",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=pki/service-accounts.key", "--service-account-signing-key-file=pki/service-accounts.key",
		"--service-cluster-ip-range=" + serviceNetwork,
		"--authorization-mode=Node,RBAC", "--allow-privileged",
		// Namespaces choose by annotation whether their pods run on the real or on the simulated nodes.
		"--enable-admission-plugins=NodeRestriction,PodNodeSelector,PodTolerationRestriction",
		"--kubelet-client-certificate=pki/kubelet-client.crt", "--kubelet-client-key=pki/kubelet-client.key",
		"--kubelet-preferred-address-types=InternalIP",
		// Aggregated APIs: reached at the addresses of their pods, which needs no cluster DNS.
		"--enable-aggregator-routing=true",
		"--proxy-client-cert-file=pki/front-proxy.crt", "--proxy-client-key-file=pki/front-proxy.key",
		"--requestheader-client-ca-file=pki/ca.crt", "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
	}
	if !c.withNode {
		// Loopback only, and no Endpoints for the Service `kubernetes`: they must not be a loopback address.
		arguments = append(arguments, "--bind-address=127.0.0.1", "--endpoint-reconciler-type=none")
	}
	return c.start(launch{name: "kube-apiserver", inside: true, command: arguments})
}

// awaitProcess waits for a condition, but not for a process that has ended.
func (c *cluster) awaitProcess(name string, deadline time.Duration, condition func() error) error {
	return c.awaitAll([]string{name}, deadline, condition)
}

// awaitParts waits for a condition that takes the whole cluster.
func (c *cluster) awaitParts(deadline time.Duration, condition func() error) error {
	return c.awaitAll(c.parts(), deadline, condition)
}

func (c *cluster) awaitAll(names []string, deadline time.Duration, condition func() error) error {
	var ended error
	err := await(deadline, func() error {
		err := condition()
		if err == nil {
			return nil
		}
		for _, name := range names {
			if c.hasEnded(name) {
				ended = outside("the whole log is "+c.logFile(name), "%s ended; it last said:\n  %s", name, c.tail(name))
				return nil
			}
		}
		return err
	})
	if ended != nil {
		return ended
	}
	if err != nil {
		return outside("the logs are in "+c.path("log"), "not ready after %s: %v", deadline, err)
	}
	return nil
}
