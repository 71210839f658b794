package app_test

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// slowly gives the address of a door to addr behind which every answer is late by up to most, at random.
func slowly(t *testing.T, addr string, most time.Duration) string {
	t.Helper()
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	t.Cleanup(func() { door.Close(); conns.Wait() })
	conns.Go(func() {
		for {
			in, err := door.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { relay(in, addr, most) })
		}
	})
	return door.Addr().String()
}

func relay(in net.Conn, addr string, most time.Duration) {
	out, err := net.Dial("tcp", addr)
	if err != nil {
		in.Close()
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(out, in)
		out.Close()
	})
	both.Go(func() {
		defer in.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := out.Read(buf)
			if err != nil {
				return
			}
			until(rand.N(most))
			if _, err := in.Write(buf[:n]); err != nil {
				return
			}
		}
	})
	both.Wait()
}
