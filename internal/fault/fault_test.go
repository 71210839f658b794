package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/sluicehq/sluice/internal/fault"
)

var (
	errGone  = fault.New("gone", "It is gone.")
	errOther = fault.New("other", "It is something else.")
)

func TestAFaultIsFoundByItsCode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  error
		gone bool
		code string
	}{
		{"itself", errGone, true, "gone"},
		{"with another detail", errGone.With("The cup is gone."), true, "gone"},
		{"with a cause", errGone.Because(io.EOF), true, "gone"},
		{"with both", errGone.With("The cup is gone.").Because(io.EOF), true, "gone"},
		{"made elsewhere with the same code", fault.New("gone", "Away."), true, "gone"},
		{"on the way up", fmt.Errorf("look for the cup: %w", errGone.Because(io.EOF)), true, "gone"},
		{"one of several", errors.Join(io.EOF, errGone), true, "gone"},
		{"as the cause of another: the outer one is what callers hear", errOther.Because(errGone), true, "other"},
		{"another", errOther, false, "other"},
		{"none", io.EOF, false, ""},
		{"nothing", nil, false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := errors.Is(tc.err, errGone); got != tc.gone {
				t.Errorf("gone: %v", got)
			}
			if got := fault.Code(tc.err); got != tc.code {
				t.Errorf("code %q, want %q", got, tc.code)
			}
		})
	}
}

func TestTheCauseIsForTheLog(t *testing.T) {
	t.Parallel()
	cause := fmt.Errorf("dial: %w", io.EOF)
	f := errGone.With("The cup is gone.").Because(cause)
	if f.Code != "gone" || f.Detail != "The cup is gone." {
		t.Errorf("what callers hear: %+v", f)
	}
	if got, want := f.Error(), "gone: The cup is gone.: dial: EOF"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !errors.Is(f, io.EOF) {
		t.Error("the cause is not found")
	}
	if got, want := errGone.Error(), "gone: It is gone."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestASentinelStaysAsItIs(t *testing.T) {
	t.Parallel()
	s := fault.New("gone", "It is gone.")
	_, _ = s.With("else"), s.Because(io.EOF)
	if *s != (fault.Error{Code: "gone", Detail: "It is gone."}) {
		t.Errorf("%+v", s)
	}
	if again := s.Because(io.EOF).With("else"); !errors.Is(again, io.EOF) {
		t.Error("another detail loses the cause")
	}
}
