package admin

import (
	"context"

	"github.com/sluicehq/sluice/internal/sqlstore"
)

// auditBacklog is how many audit entries are kept while SQL is away.
const auditBacklog = 1000

// Entry is the audit of a write: who, from where, what, and why. Before and after are written as JSON; nil = none.
func Entry(by Identity, action, subject, reason string, before, after any) sqlstore.AuditEntry {
	return sqlstore.AuditEntry{
		Who: by.Name, Via: string(by.Via), Role: by.Role, Address: by.Address, Action: action, Subject: subject, Reason: reason,
		Before: jsonText(before), After: jsonText(after),
	}
}

// audit notes an action that has happened in the line. It never fails the action: what SQL does not take now is kept
// and written later, with the time of the action.
func (a *Admin) audit(ctx context.Context, e sqlstore.AuditEntry) {
	e.At = a.o.Clock.Now()
	if err := a.o.Store.Audit(context.WithoutCancel(ctx), e); err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.late) >= auditBacklog {
			a.log.ErrorContext(ctx, "audit entry lost", "action", e.Action, "subject", e.Subject, "who", e.Who, "err", err)
			return
		}
		a.late = append(a.late, e)
	}
}
