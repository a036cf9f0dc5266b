package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
)

// answerLines gives every line that is not blank to one of the workers and writes what they answer
// in the order of the lines. Each answer is flushed, so that one who asks line by line is answered
// line by line.
func answerLines(in io.Reader, out io.Writer, workers int, answer func([]byte) []byte) error {
	type question struct {
		line   []byte
		answer chan []byte
	}
	questions := make(chan question)
	for range workers {
		go func() {
			for q := range questions {
				q.answer <- calmly(q.line, answer)
			}
		}()
	}

	answers := make(chan chan []byte, workers)
	var unread error
	go func() {
		defer close(answers)
		defer close(questions)
		// A catalog in one line is longer than what a bufio.Scanner takes.
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			if line = bytes.TrimSpace(line); len(line) > 0 {
				q := question{line, make(chan []byte, 1)}
				answers <- q.answer
				questions <- q
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					unread = fmt.Errorf("reading problems: %w", err)
				}
				return
			}
		}
	}()

	for answer := range answers {
		if _, err := out.Write(append(<-answer, '\n')); err != nil {
			return fmt.Errorf("writing outcomes: %w", err)
		}
	}
	return unread
}

// calmly turns a panic into an outcome: the other problems are to be solved all the same.
func calmly(line []byte, answer func([]byte) []byte) (answered []byte) {
	defer func() {
		if cause := recover(); cause != nil {
			answered = failure(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	return answer(line)
}
