package admin

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	html "html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/goccy/go-yaml"

	"github.com/sluicehq/sluice/internal/problem"
)

//go:embed apidocs.html
var docsSource string

//go:embed apidocs.css
var docsStyle string

// docsPolicy lets the page load nothing, and be styled by its own style alone.
var docsPolicy = func() string {
	sum := sha256.Sum256([]byte(docsStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// docsTemplate has the style in it as it is hashed, to the byte.
var docsTemplate = html.Must(html.New("docs").Parse(strings.Replace(docsSource, "{{style}}", docsStyle, 1)))

// apiDocument is what the page shows of the document.
type apiDocument struct {
	Info struct{ Title, Version, Summary, Description string }
	Tags []struct {
		Name, Description string
		Operations        []apiOperation `yaml:"-"`
	}
	Paths      map[string]map[string]any
	Components struct {
		Parameters map[string]apiParameter
		Responses  map[string]struct{ Description string }
		Schemas    map[string]any
	}
	Schemas []apiSchema `yaml:"-"`
}

// apiOperation is one method of an address.
type apiOperation struct {
	Method, Path string
	ID           string         `yaml:"operationId"`
	Tags         []string       `yaml:"tags"`
	Summary      string         `yaml:"summary"`
	Description  string         `yaml:"description"`
	Role         string         `yaml:"x-role"`
	Parameters   []apiParameter `yaml:"parameters"`
	RequestBody  any            `yaml:"requestBody"`
	Responses    map[string]any `yaml:"responses"`
	Body         string         `yaml:"-"` // name of the schema; "" = none
	Answers      []apiAnswer    `yaml:"-"`
}

type apiParameter struct {
	Ref                   string `yaml:"$ref"`
	Name, In, Description string
	Required              bool
}

// apiAnswer is one status, and the schema of what comes with it.
type apiAnswer struct{ Status, Description, Schema string }

// apiSchema is a schema as the document has it.
type apiSchema struct{ Name, Text string }

// docsPage renders the document once.
var docsPage = sync.OnceValues(func() ([]byte, error) {
	var d apiDocument
	if err := yaml.Unmarshal(openAPISource, &d); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		if err := d.add(path); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		text, err := json.MarshalIndent(d.Components.Schemas[name], "", "  ")
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		d.Schemas = append(d.Schemas, apiSchema{name, string(text)})
	}
	var b bytes.Buffer
	err := docsTemplate.Execute(&b, d)
	return b.Bytes(), err
})

// add puts the operations of an address under their tags.
func (d *apiDocument) add(path string) error {
	shared, err := again[[]apiParameter](d.Paths[path]["parameters"])
	if err != nil {
		return err
	}
	for _, method := range []string{"get", "post", "put", "patch", "delete"} {
		raw, there := d.Paths[path][method]
		if !there {
			continue
		}
		o, err := again[apiOperation](raw)
		if err != nil {
			return err
		}
		o.Method, o.Path, o.Body = strings.ToUpper(method), path, schemaIn(o.RequestBody)
		o.Parameters = append(slices.Clone(shared), o.Parameters...)
		for i, p := range o.Parameters {
			if p.Ref != "" {
				o.Parameters[i] = d.Components.Parameters[last(p.Ref)]
			}
		}
		for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
			r, _ := o.Responses[status].(map[string]any)
			a := apiAnswer{Status: status, Schema: schemaIn(r["content"])}
			a.Description, _ = r["description"].(string)
			if ref, ok := r["$ref"].(string); ok {
				a.Description = d.Components.Responses[last(ref)].Description
			}
			o.Answers = append(o.Answers, a)
		}
		for i := range d.Tags {
			if slices.Contains(o.Tags, d.Tags[i].Name) {
				d.Tags[i].Operations = append(d.Tags[i].Operations, o)
			}
		}
	}
	return nil
}

// again reads a part of the document into a type of its own; the zero value of nothing.
func again[T any](part any) (v T, err error) {
	if part == nil {
		return v, nil
	}
	b, err := yaml.Marshal(part)
	if err != nil {
		return v, err
	}
	return v, yaml.Unmarshal(b, &v)
}

// schemaIn gives the name of the first schema that a body or an answer refers to; "" = none.
func schemaIn(part any) string {
	fields, ok := part.(map[string]any)
	if !ok {
		return ""
	}
	if ref, ok := fields["$ref"].(string); ok && strings.HasPrefix(ref, "#/components/schemas/") {
		return last(ref)
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if name := schemaIn(fields[key]); name != "" {
			return name
		}
	}
	return ""
}

func last(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// apiDocs is GET /admin/api/docs: the document for people, open to everybody as the document is. It loads nothing.
func apiDocs(c *gin.Context) {
	page, err := docsPage()
	if err != nil {
		problem.Answer(c, err)
		return
	}
	c.Header("Content-Security-Policy", docsPolicy)
	c.Header("Referrer-Policy", "no-referrer")
	c.Data(http.StatusOK, "text/html; charset=utf-8", page)
}
