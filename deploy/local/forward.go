package main

import (
	"fmt"
	"io"
	"net"
	"os"
)

// publish makes a port of the cluster's network answer on this machine's loopback address. The
// listening socket is opened here, outside, and handed to a process inside, which dials there.
func (c *cluster) publish(name string, port int) error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return outside("", "cannot listen for the %s: %v", name, err)
	}
	defer listener.Close()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer socket.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return c.start(launch{
		name:    "forward-" + name,
		command: []string{self, "forward", fmt.Sprintf("127.0.0.1:%d", port)},
		inside:  true,
		files:   []*os.File{socket},
	})
}

// forward accepts on the socket it inherited and copies bytes to and from an address.
func forward(arguments []string) error {
	if len(arguments) != 1 {
		return &failure{message: "forward takes one address", code: 2}
	}
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	return copyConnections(listener, arguments[0])
}

func copyConnections(listener net.Listener, address string) error {
	for {
		client, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer client.Close()
			server, err := net.Dial("tcp", address)
			if err != nil {
				return
			}
			defer server.Close()
			done := make(chan struct{}, 2)
			copyOne := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				// Half-closed, so that the other direction may finish.
				_ = to.(*net.TCPConn).CloseWrite()
				done <- struct{}{}
			}
			go copyOne(server, client)
			go copyOne(client, server)
			<-done
			<-done
		}()
	}
}
