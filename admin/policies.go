package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// policyView is a policy as it is answered, and as PUT takes it.
type policyView struct {
	Pattern queue.Pattern `json:"pattern"`
	queue.Policy
}

// policyBody is what a body may name. The fields beside the policy are known, and refused.
type policyBody struct {
	policyView
	notBuiltFields
}

// notBuiltFields are those of notBuilt.
type notBuiltFields struct {
	InviteOnly                   any `json:"invite_only"`
	NewPlacesPerAddressPerMinute any `json:"new_places_per_address_per_minute"`
}

// notBuilt are the fields of the contract that this version does not have.
var notBuilt = []string{"invite_only", "new_places_per_address_per_minute"}

var errNoPolicy = sqlstore.ErrNotFound.With("There is no policy under this pattern.")

// patternOf reads the pattern of the address.
func patternOf(c *gin.Context) (queue.Pattern, error) {
	return queue.ParsePattern(problem.Param(c, "pattern"))
}

// listPolicies is GET /policies?format=: all of them, the most specific first.
func (a *Admin) listPolicies(c *gin.Context) error {
	if file, err := asFile(c); err != nil {
		return err
	} else if file {
		return a.policiesFile(c)
	}
	now := a.o.Settings.Now()
	patterns := now.Patterns()
	slices.SortFunc(patterns, queue.Pattern.Compare)
	list := make([]policyView, 0, len(patterns))
	for _, p := range patterns {
		policy, _ := now.Policy(p)
		list = append(list, policyView{p, policy})
	}
	c.JSON(http.StatusOK, gin.H{"policies": list, "version": now.Version()})
	return nil
}

// asFile reads whether a list is asked for as the file that sluice apply takes.
func asFile(c *gin.Context) (bool, error) {
	switch c.Query("format") {
	case "", "json":
		return false, nil
	case "yaml":
		return true, nil
	default:
		return false, errParameter.With("format must be json or yaml.")
	}
}

// getPolicy is GET /policies/{pattern}.
func (a *Admin) getPolicy(c *gin.Context) error {
	pattern, err := patternOf(c)
	if err != nil {
		return err
	}
	policy, ok := a.o.Settings.Now().Policy(pattern)
	if !ok {
		return errNoPolicy
	}
	return answerPolicy(c, http.StatusOK, pattern, policy)
}

func answerPolicy(c *gin.Context, status int, pattern queue.Pattern, policy queue.Policy) error {
	c.Header("ETag", ETag(policy))
	c.JSON(status, policyView{pattern, policy})
	return nil
}

// putPolicy is PUT /policies/{pattern}: the whole policy; a field that is not there has its default.
func (a *Admin) putPolicy(c *gin.Context) error {
	body, err := problem.ReadBody(c)
	if err != nil {
		return err
	}
	return a.answerWrite(c, body, a.PutPolicy)
}

// PutPolicy writes a whole policy, given as JSON; a field that is not there has its default. match are the lines of
// If-Match, and created tells that there was no policy under the pattern.
func (a *Admin) PutPolicy(ctx context.Context, by Identity, pattern queue.Pattern, body []byte, match []string) (policy queue.Policy, created bool, err error) {
	return a.writePolicy(ctx, by, policyWrite{"policy.put", pattern, body, match}, func(*settings.Settings) (json.RawMessage, error) {
		return body, nil
	})
}

// patchPolicy is PATCH /policies/{pattern}: JSON Merge Patch (RFC 7396) on the policy, or where there is none on the
// one now in force for the pattern. null gives a field its default.
func (a *Admin) patchPolicy(c *gin.Context) error {
	patch, err := problem.ReadBody(c)
	if err != nil {
		return err
	}
	return a.answerWrite(c, patch, a.PatchPolicy)
}

// PatchPolicy writes part of a policy: JSON Merge Patch, as PATCH takes it. The rest is as with PutPolicy.
func (a *Admin) PatchPolicy(ctx context.Context, by Identity, pattern queue.Pattern, patch []byte, match []string) (policy queue.Policy, created bool, err error) {
	if err := problem.CheckPatch(patch, &policyBody{}); err != nil {
		return policy, false, err
	}
	fields := fieldsOf(patch)
	if onlyPage := len(fields) == 1 && fields["wait_page"] != nil; !onlyPage && !by.May(sqlstore.Operator) {
		return policy, false, problem.ErrForbidden.With("The role marketer may change the wait_page of a policy, and nothing else of it.")
	}
	return a.writePolicy(ctx, by, policyWrite{"policy.patch", pattern, patch, match}, func(now *settings.Settings) (json.RawMessage, error) {
		base, exists := now.Policy(pattern)
		if !exists {
			if !by.May(sqlstore.Operator) {
				return nil, problem.ErrForbidden.With("The role marketer may change policies that exist, and make none.")
			}
			// For a glob this is the most specific policy that matches its text.
			_, base = now.For(queue.Item(pattern))
		}
		return mergePatch(base, patch)
	})
}

// answerWrite does a write of the policy of the address, and answers with the policy.
func (a *Admin) answerWrite(c *gin.Context, body []byte, write func(context.Context, Identity, queue.Pattern, []byte, []string) (queue.Policy, bool, error)) error {
	pattern, err := patternOf(c)
	if err != nil {
		return err
	}
	policy, created, err := write(c.Request.Context(), who(c), pattern, body, c.Request.Header.Values("If-Match"))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return answerPolicy(c, status, pattern, policy)
}

// policyWrite is a write of a policy: the word for the audit, what was sent, and the lines of If-Match.
type policyWrite struct {
	action  string
	pattern queue.Pattern
	sent    []byte
	match   []string
}

// writePolicy writes the policy that next makes, from the settings before, as one transaction.
func (a *Admin) writePolicy(ctx context.Context, by Identity, w policyWrite, next func(*settings.Settings) (json.RawMessage, error)) (policy queue.Policy, created bool, err error) {
	sentFields := fieldsOf(w.sent)
	for _, field := range notBuilt {
		if _, there := sentFields[field]; there {
			return policy, false, problem.ErrNotAvailable.With(field + " is not available in this version.")
		}
	}
	changed := false
	_, err = a.change(ctx, func(tx *sqlstore.Tx) error {
		before, err := tx.Settings()
		if err != nil {
			return err
		}
		old, exists := before.Policy(w.pattern)
		if err := ifMatch(w.match, old, exists); err != nil {
			return err
		}
		body, err := next(before)
		if err != nil {
			return err
		}
		if policy, err = readPolicy(body, w.pattern); err != nil {
			return err
		}
		e := Entry(by, w.action, string(w.pattern), "", nil, policy)
		if exists {
			if reflect.DeepEqual(old, policy) {
				return nil // nothing to write: same version, same etag
			}
			e.Before = jsonText(old)
		}
		created, changed = !exists, true
		return errors.Join(tx.PutPolicy(w.pattern, policy), tx.Audit(e), queuePolicyChanged(tx, a.o.Settings.Now().Owner(), policyEvent(by, w.pattern, a.o.Clock.Now())))
	})
	if err != nil {
		return policy, false, err
	}
	if changed {
		a.policyChanged(policyEvent(by, w.pattern, a.o.Clock.Now()))
	}
	return policy, created, nil
}

// deletePolicy is DELETE /policies/{pattern}; that of "*" has its defaults afterwards, since it always exists.
func (a *Admin) deletePolicy(c *gin.Context) error {
	pattern, err := patternOf(c)
	if err != nil {
		return err
	}
	if err := a.DeletePolicy(c.Request.Context(), who(c), pattern, c.Request.Header.Values("If-Match")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// DeletePolicy deletes the policy written under a pattern.
func (a *Admin) DeletePolicy(ctx context.Context, by Identity, pattern queue.Pattern, match []string) error {
	_, err := a.change(ctx, func(tx *sqlstore.Tx) error {
		old, exists, err := tx.Policy(pattern)
		if err != nil {
			return err
		}
		if err := ifMatch(match, old, exists); err != nil {
			return err
		}
		if !exists {
			return errNoPolicy
		}
		return errors.Join(tx.DeletePolicy(pattern), tx.Audit(Entry(by, "policy.delete", string(pattern), "", old, nil)),
			queuePolicyChanged(tx, a.o.Settings.Now().Owner(), policyEvent(by, pattern, a.o.Clock.Now())))
	})
	if err != nil {
		return err
	}
	a.policyChanged(policyEvent(by, pattern, a.o.Clock.Now()))
	return nil
}

func policyEvent(by Identity, pattern queue.Pattern, now time.Time) Event {
	return Event{Type: PolicyChanged, Time: now, Data: map[string]any{"pattern": pattern, "by": by.Name}}
}

// policyChanged tells who listens on this node of a policy or a sale; webhooks hear of it by what was queued with the
// change.
func (a *Admin) policyChanged(e Event) {
	a.o.Events.Publish(e)
	a.deliverer.Wake()
}

// queuePolicyChanged queues the event for webhooks as a part of the change, so that it is told if, and only if, the
// change was made.
func queuePolicyChanged(tx *sqlstore.Tx, owner string, e Event) error {
	l, err := letter(owner, e)
	if err != nil {
		return err
	}
	return tx.Queue(l)
}

// readPolicy reads and checks a whole policy.
func readPolicy(body []byte, pattern queue.Pattern) (queue.Policy, error) {
	v := policyView{pattern, queue.DefaultPolicy()}
	if err := problem.Decode(body, &v); err != nil {
		return v.Policy, err
	}
	if v.Pattern != pattern {
		return v.Policy, problem.ErrInvalidBody.With("pattern is another one than that of the address.")
	}
	v.InflowPerSecond += 0 // -0 is 0
	v.ReleaseRatio += 0
	return v.Policy, v.Validate()
}

// mergePatch applies a patch (RFC 7396) that has been checked to the JSON of v.
func mergePatch(v any, patch []byte) (json.RawMessage, error) {
	base, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return merge(base, patch)
}

// merge is MergePatch of RFC 7396, section 2. Numbers stay as they are written.
func merge(target, patch json.RawMessage) (json.RawMessage, error) {
	var changes map[string]json.RawMessage
	if json.Unmarshal(patch, &changes) != nil || changes == nil {
		return patch, nil // no object: it takes the target's place
	}
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(target, &fields) != nil || fields == nil {
		fields = map[string]json.RawMessage{}
	}
	for name, change := range changes {
		if string(change) == "null" {
			delete(fields, name)
			continue
		}
		merged, err := merge(fields[name], change)
		if err != nil {
			return nil, err
		}
		fields[name] = merged
	}
	return json.Marshal(fields)
}

// fieldsOf gives the fields of an object; none where the body is none.
func fieldsOf(body []byte) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(body, &fields) // whoever decodes the body says what is wrong with it
	return fields
}
