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

// progress is a line that replaces itself on a terminal and is left out in a pipe, where
// heartbeat speaks now and then instead.
type progress struct {
	topic string
	last  time.Time
}

func (p *progress) show(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if onTerminal {
		if time.Since(p.last) > 100*time.Millisecond {
			fmt.Fprintf(os.Stderr, "%s%6.1fs  %-14s %s", clearLine(), time.Since(started).Seconds(), p.topic, text)
			p.last = time.Now()
		}
		return
	}
	if p.last.IsZero() {
		p.last = time.Now()
	}
	if time.Since(p.last) > 20*time.Second {
		say(p.topic, "%s", text)
		p.last = time.Now()
	}
}

func clearLine() string {
	if onTerminal {
		return "\r\033[K"
	}
	return ""
}
