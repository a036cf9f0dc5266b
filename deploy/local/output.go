package main

import (
	"fmt"
	"os"
	"time"
)

var started = time.Now()

// onTerminal tells whether a person watches; a pipe gets plain lines.
var onTerminal = func() bool {
	info, err := os.Stderr.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}()

// say reports one step on standard error; standard output is for data.
func say(topic, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s%6.1fs  %-14s %s\n", clearLine(), time.Since(started).Seconds(), topic, fmt.Sprintf(format, args...))
}

// heartbeat shows how far something long is, until the function it gives is called: on a terminal
// as a line that replaces itself, in a pipe as a line now and then.
func heartbeat(topic string, text func() string) func() {
	pause := 20 * time.Second
	if onTerminal {
		pause = 200 * time.Millisecond
	}
	ticker := time.NewTicker(pause)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if onTerminal {
					fmt.Fprintf(os.Stderr, "%s%6.1fs  %-14s %s", clearLine(), time.Since(started).Seconds(), topic, text())
				} else {
					say(topic, "%s", text())
				}
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
		<-ended
	}
}

func clearLine() string {
	if onTerminal {
		return "\r\033[K"
	}
	return ""
}
