package redisserver

import (
	"context"
	"errors"
	"strings"
	"time"
)

// do sends one command by a connection of its own.
func (s *Server) do(ctx context.Context, args ...any) error {
	c := s.Client()
	defer c.Close()
	return c.Do(ctx, args...).Err()
}

// says reports whether a section of INFO (or CLUSTER INFO, by its name) holds all these lines.
func (s *Server) says(ctx context.Context, section string, lines ...string) bool {
	c := s.Client()
	defer c.Close()
	var text string
	var err error
	if section == "cluster" {
		text, err = c.ClusterInfo(ctx).Result()
	} else {
		text, err = c.Info(ctx, section).Result()
	}
	if err != nil {
		return false
	}
	for _, line := range lines {
		if !strings.Contains(text, line+"\r\n") {
			return false
		}
	}
	return true
}

// follows reports whether the server is a replica that has its primary's data.
func (s *Server) follows(ctx context.Context) bool {
	return s.says(ctx, "replication", "role:slave", "master_link_status:up")
}

// whole reports whether the server finds all slots of its cluster served.
func (s *Server) whole(ctx context.Context) bool {
	return s.says(ctx, "cluster", "cluster_state:ok", "cluster_slots_assigned:16384")
}

// within asks again and again until something is so.
func within(most time.Duration, what string, is func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	for !is(ctx) {
		select {
		case <-ctx.Done():
			return errors.New(what)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}
