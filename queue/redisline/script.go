package redisline

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/queue"
)

//go:embed lua/*.lua
var sources embed.FS

// NewScript makes a script of a body, the prelude that all scripts of a line share (lua/prelude.lua), and those parts
// between the two that the body needs: a call makes every function anew that its script holds.
func NewScript(body string, parts ...string) *redis.Script {
	text := source("prelude")
	for _, part := range parts {
		text += source(part)
	}
	return redis.NewScript(text + body)
}

func source(name string) string {
	b, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // embedded: cannot be absent in a program that was built
	}
	return string(b)
}

var (
	joinScript   = NewScript(source("join"))
	touchScript  = NewScript(source("touch"))
	endScript    = NewScript(source("end"))
	recallScript = NewScript(source("recall"))
	stepScript   = NewScript(source("step"), "windows", "turns", "story")
	switchScript = NewScript(source("switch"), "windows", "turns", "story", "mends")
	mendScript   = NewScript(source("mend"), "mends")
)

// Scripts names the scripts by their digests.
func Scripts() map[string]string {
	return map[string]string{
		joinScript.Hash(): "join", touchScript.Hash(): "touch", endScript.Hash(): "end", recallScript.Hash(): "recall",
		stepScript.Hash(): "step", switchScript.Hash(): "switch", mendScript.Hash(): "mend", announceScript.Hash(): "announce",
	}
}

// run calls a script and gives the parts of its answer.
func (l *Line) run(ctx context.Context, s *redis.Script, item queue.Item, keys []string, args ...any) (reply, error) {
	got, err := s.Run(ctx, l.client, keys, args...).Slice()
	if err = Fault(err); errors.Is(err, queue.ErrDamaged) && l.Mend(ctx, item) == nil {
		got, err = s.Run(ctx, l.client, keys, args...).Slice()
		err = Fault(err)
	}
	if err != nil {
		return nil, fmt.Errorf("item %s: %w", item, err)
	}
	return reply(got), nil
}

// away are the answers of a server that cannot serve for now; what else it answers is the item's own trouble.
var away = []string{"LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "OOM", "NOREPLICAS", "TRYAGAIN", "BUSY", "MISCONF"}

// Fault makes queue.ErrStoreDown of an error that says that the store cannot be reached or cannot serve,
// queue.ErrDamaged of one that says that a key is not what a line writes, and leaves any other as it is.
func Fault(err error) error {
	if err == nil || errors.Is(err, redis.Nil) {
		return err
	}
	var answered redis.Error
	if !errors.As(err, &answered) {
		return queue.ErrStoreDown.Because(err)
	}
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return fmt.Errorf("%w: %w", queue.ErrDamaged, err)
	}
	for _, prefix := range away {
		if redis.HasErrorPrefix(err, prefix) {
			return queue.ErrStoreDown.Because(err)
		}
	}
	var network net.Error
	if errors.As(err, &network) {
		return queue.ErrStoreDown.Because(err)
	}
	return err
}
