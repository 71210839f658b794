// Package settingsfile reads and writes settings as a file for people who keep them in git:
//
//	policies:
//	  "*":
//	    trigger_requests: 100
//	  concert-*:
//	    inflow_per_second: 5
//	    wait_page:
//	      title:
//	        en: Almost there
//	sales:
//	  black-friday:
//	    name: Black Friday
//	    item: sku-1
//	    opens_at: "2026-11-27T11:00:00"
//	    time_zone: Asia/Seoul
//
// A field that is not given has its default; one that is unknown, stands twice or is out of range is refused with its line.
package settingsfile

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml/parser"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// File is the content of a file.
type File struct {
	Policies map[queue.Pattern]queue.Policy // nil = the file says nothing of policies
	Sales    map[string]Sale                // by id; nil = the file says nothing of sales
}

// Sale is one sale of a file.
type Sale struct {
	Plan *sale.Plan
	Line int // where it stands; 0 = not known
}

// Error says what is wrong, and where.
type Error struct {
	Line int // 1 is the first; 0 = not known
	What string
}

// Error gives one line.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.What
	}
	return "line " + strconv.Itoa(e.Line) + ": " + e.What
}

// Parse reads a file; an *Error where it cannot be used as a whole.
func Parse(raw []byte) (File, error) {
	doc, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return File{}, yamlError(err)
	}
	var f File
	if len(doc.Docs) > 1 {
		return f, &Error{Line: line(doc.Docs[1].Body), What: "one document is expected"}
	}
	if len(doc.Docs) == 0 || doc.Docs[0].Body == nil {
		return f, &Error{What: "there is nothing in it; an empty list of policies is written policies: {}"}
	}
	top, err := entries(doc.Docs[0].Body, "the file")
	if err != nil {
		return f, err
	}
	for _, section := range top {
		switch section.key {
		case "policies":
			if f.Policies, err = policies(section.value); err != nil {
				return f, err
			}
		case "sales":
			if f.Sales, err = sales(section.value); err != nil {
				return f, err
			}
		default:
			return f, &Error{Line: section.line, What: fmt.Sprintf("%q is not known; a file has policies and sales", section.key)}
		}
	}
	return f, nil
}

// detail is what a refusal says to people.
func detail(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Detail
	}
	return err.Error()
}
