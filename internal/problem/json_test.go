package problem

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/fault"
)

type inner struct {
	Texts map[string]string `json:"texts"`
}

type sample struct {
	Count int64           `json:"count"`
	Rate  float64         `json:"rate"`
	On    bool            `json:"on"`
	Name  string          `json:"name"`
	List  []string        `json:"list"`
	Maybe *float64        `json:"maybe"`
	Inner inner           `json:"inner"`
	Raw   json.RawMessage `json:"raw"`
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body, detail string // detail "" = accepted
	}{
		{"all fields are read", `{"count":1,"rate":1e-9,"on":true,"name":"x","list":["a"],"maybe":null,"inner":{"texts":{"ko":"x"}},"raw":{"a":[1,null]}}`, ""},
		{"an empty object is one", ` {} `, ""},
		{"an unknown field is named", `{"cuont":1}`, "cuont is not a field"},
		{"a field in another case is unknown", `{"Count":1}`, "Count is not a field"},
		{"an unknown field inside is named with its path", `{"inner":{"text":1}}`, "inner.text is not a field"},
		{"a field that stands twice is refused", `{"count":1,"count":2}`, "count stands twice"},
		{"a key that stands twice in a map is refused", `{"inner":{"texts":{"a":"1","a":"2"}}}`, "inner.texts.a stands twice"},
		{"a text for a number is named", `{"rate":"50"}`, "rate must be a number"},
		{"NaN is named", `{"rate":NaN}`, "rate is not valid JSON"},
		{"a number past all bounds is named", `{"rate":1e309}`, "rate must be a number"},
		{"a fraction for a whole number is named", `{"count":1.5}`, "count must be a whole number"},
		{"a whole number past 64 bits is named", `{"count":9223372036854775808}`, "count must be a whole number"},
		{"null for a number is named", `{"count":null}`, "count must be a whole number"},
		{"null in a map of texts is named", `{"inner":{"texts":{"ko":null}}}`, "inner.texts.ko must be a text"},
		{"a number in a list of texts is named", `{"list":["a",1]}`, "list[1] must be a text"},
		{"an object for a list is named", `{"list":{}}`, "list must be a list"},
		{"a list is no object", `[]`, "The body must be a JSON object"},
		{"null is no object", `null`, "The body must be a JSON object"},
		{"a text is no object", `"x"`, "The body must be a JSON object"},
		{"nothing is no object", "", "empty"},
		{"something after the object is refused", `{} {}`, "after the JSON object"},
		{"a cut body is refused", `{"count":1`, "not valid JSON"},
		{"a comma too many is refused", `{"count":1,}`, "not valid JSON"},
		{"bytes that are no text are refused", "{\"name\":\"\xff\"}", "not UTF-8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var v sample
			err := Decode([]byte(tc.body), &v)
			if tc.detail == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if fault.Code(err) != "invalid_body" || !strings.Contains(err.Error(), tc.detail) {
				t.Errorf("got %v, want invalid_body with %q", err, tc.detail)
			}
		})
	}
}

func TestCheckPatchLetsNullStandAnywhere(t *testing.T) {
	t.Parallel()
	if err := CheckPatch([]byte(`{"count":null,"inner":{"texts":{"ko":null}},"list":null}`), &sample{}); err != nil {
		t.Error(err)
	}
	if err := CheckPatch([]byte(`null`), &sample{}); fault.Code(err) != "invalid_body" {
		t.Errorf("null as a whole: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{}`, `{"count":1}`, `{"inner":{"texts":{"a":"b"}}}`, `{"raw":[[[{}]]]}`, `{"a`, `{1:2}`, `{]`, `{"list":[,]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v, std sample
		err := Decode(data, &v)
		if err != nil && fault.Code(err) != "invalid_body" {
			t.Fatalf("%v", err)
		}
		// What is accepted is JSON, and means what encoding/json says it means.
		if err == nil && json.Unmarshal(data, &std) != nil {
			t.Fatalf("accepted %q", data)
		}
	})
}
