package admin

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/proxies"
)

// TooManyLogins is a refusal to try a sign-in now.
type TooManyLogins struct{ Wait time.Duration }

// Error says when to try again.
func (t *TooManyLogins) Error() string { return t.Unwrap().Error() }

// Unwrap gives the fault.
func (t *TooManyLogins) Unwrap() error {
	return errTooManyLogins.With(fmt.Sprintf("Too many sign-ins have failed. Try again in %d seconds, or have an operator of the machine run: sluice user login-link.", t.seconds()))
}

func (t *TooManyLogins) seconds() int { return max(1, int(math.Ceil(t.Wait.Seconds()))) }

var errTooManyLogins = fault.New("too_many_logins", "Too many sign-ins have failed.")

// retryLater tells with the answer when to try again, where the error says so.
func retryLater(c *gin.Context, err error) error {
	var t *TooManyLogins
	if errors.As(err, &t) {
		c.Header("Retry-After", strconv.Itoa(t.seconds()))
	}
	return err
}

// logins bound how often passwords can be tried at this node: for one user, so that no password can be guessed from
// many places, and from one address, so that nobody can try the same one on many users.
type logins struct{ users, addresses *buckets }

func newLogins() logins {
	return logins{
		users:     &buckets{most: 10, every: time.Minute, of: map[string]bucket{}},
		addresses: &buckets{most: 30, every: 10 * time.Second, of: map[string]bucket{}},
	}
}

// attempt counts one try; name "" = of no user.
func (l logins) attempt(name, address string, now time.Time) error {
	wait := l.addresses.take(proxies.Block(address), now)
	if wait == 0 && name != "" {
		wait = l.users.take(name, now)
	}
	if wait > 0 {
		return &TooManyLogins{Wait: wait}
	}
	return nil
}

// forgive forgets the tries for a user who has signed in, and the last one from the address.
func (l logins) forgive(name, address string) {
	l.users.forget(name)
	l.addresses.giveBack(proxies.Block(address))
}

// mostBuckets is how many names or addresses are remembered.
const mostBuckets = 10_000

// buckets are token buckets by key: each holds at most so many and gains one every so often.
type buckets struct {
	most  float64
	every time.Duration

	mu sync.Mutex
	of map[string]bucket
}

type bucket struct {
	holds float64
	at    time.Time
}

func (b *buckets) now(key string, now time.Time) float64 {
	was, ok := b.of[key]
	if !ok {
		return b.most
	}
	return min(b.most, was.holds+max(0, now.Sub(was.at).Seconds())/b.every.Seconds())
}

// take takes one, and gives 0, or how long it is until there is one.
func (b *buckets) take(key string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	holds := b.now(key, now)
	if holds < 1 {
		return time.Duration((1 - holds) * float64(b.every))
	}
	b.makeRoom(now)
	b.of[key] = bucket{holds - 1, now}
	return 0
}

func (b *buckets) giveBack(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if was, ok := b.of[key]; ok {
		b.of[key] = bucket{was.holds + 1, was.at}
	}
}

func (b *buckets) forget(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.of, key)
}

// makeRoom drops those that are full again, and where they are few, any: a bucket fewer is a few tries more. It makes
// much room at a time, since it looks at all.
func (b *buckets) makeRoom(now time.Time) {
	if len(b.of) < mostBuckets {
		return
	}
	for key := range b.of {
		if b.now(key, now) >= b.most {
			delete(b.of, key)
		}
	}
	for key := range b.of {
		if len(b.of) <= mostBuckets*3/4 {
			return
		}
		delete(b.of, key)
	}
}
