package sluice

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// constants gives the values of the constants of each type, as the source has them.
func constants(t *testing.T) map[string][]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "answer.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]string{}
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			continue
		}
		for _, spec := range decl.Specs {
			v := spec.(*ast.ValueSpec)
			value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			name := v.Type.(*ast.Ident).Name
			values[name] = append(values[name], value)
		}
	}
	return values
}

// comparison holds Go types against schemas.
type comparison struct {
	t      *testing.T
	values map[string][]string
}

// same holds one type against one schema, where is their name in messages.
func (c comparison) same(where string, typ reflect.Type, schema *openapi3.Schema) {
	nullable := schema.Type.Includes("null")
	for _, one := range schema.OneOf { // of the thing and null
		if one.Value.Type.Is("null") {
			nullable = true
		} else {
			schema = one.Value
		}
	}
	if (typ.Kind() == reflect.Pointer) != nullable {
		c.t.Errorf("%s is %v; null is allowed: %v", where, typ, nullable)
		return
	}
	if nullable {
		typ = typ.Elem()
	}
	switch is := schema.Type.Includes; {
	case is("object"):
		c.sameObject(where, typ, schema)
	case is("string") && schema.Format == "date-time":
		c.is(where, typ == reflect.TypeFor[time.Time](), typ)
	case is("string"):
		c.is(where, typ.Kind() == reflect.String, typ)
		var want []string
		for _, v := range schema.Enum {
			want = append(want, v.(string))
		}
		have := c.values[typ.Name()]
		slices.Sort(want)
		slices.Sort(have)
		if !slices.Equal(have, want) {
			c.t.Errorf("%s has the values %v, the contract %v", where, have, want)
		}
	case is("integer"):
		c.is(where, typ.Kind() == reflect.Int64 || typ.Kind() == reflect.Int, typ)
	case is("boolean"):
		c.is(where, typ.Kind() == reflect.Bool, typ)
	default:
		c.t.Errorf("%s: the contract has a type that is not looked at: %v", where, schema.Type)
	}
}

func (c comparison) is(where string, ok bool, typ reflect.Type) {
	if !ok {
		c.t.Errorf("%s is %v", where, typ)
	}
}

// sameObject wants a field for each property and no other, and every property to be there always.
func (c comparison) sameObject(where string, typ reflect.Type, schema *openapi3.Schema) {
	have := map[string]bool{}
	for _, f := range reflect.VisibleFields(typ) {
		if f.Anonymous {
			continue
		}
		name := f.Tag.Get("json")
		have[name] = true
		property, ok := schema.Properties[name]
		if !ok {
			c.t.Errorf("%s.%s: the contract has no such property", where, name)
			continue
		}
		if !slices.Contains(schema.Required, name) {
			c.t.Errorf("%s.%s may be missing", where, name)
		}
		c.same(where+"."+name, f.Type, property.Value)
	}
	for name := range schema.Properties {
		if !have[name] {
			c.t.Errorf("%s has no %s", where, name)
		}
	}
}

// The types are those of /openapi.json: each property with its type, whether it may be null, and the words it may say.
func TestTheTypesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromFile("../../gate/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	c := comparison{t, constants(t)}
	for name, typ := range map[string]reflect.Type{
		"Answer": reflect.TypeFor[Answer](), "Place": reflect.TypeFor[Place](), "Pass": reflect.TypeFor[Token](), "Problem": reflect.TypeFor[Error](),
	} {
		c.same(name, typ, doc.Components.Schemas[name].Value)
	}
	// A renewal is one of two objects, in one type here.
	renewal := &openapi3.Schema{Type: &openapi3.Types{"object"}, Properties: openapi3.Schemas{}}
	for _, one := range doc.Components.Schemas["Renewals"].Value.Properties["passes"].Value.Items.Value.OneOf {
		for name, p := range one.Value.Properties {
			renewal.Properties[name] = p
			renewal.Required = append(renewal.Required, name)
		}
	}
	c.same("Renewal", reflect.TypeFor[Renewal](), renewal)

	// And the calls are there, with the methods that the client uses.
	for call, path := range map[string]string{
		"GET check": "/v1/items/{item}/check", "GET status": "/v1/items/{item}/status", "DELETE place": "/v1/items/{item}/place",
		"POST finish": "/v1/items/{item}/finish", "POST renew": "/v1/passes/renew",
	} {
		method, _, _ := strings.Cut(call, " ")
		if p := doc.Paths.Find(path); p == nil || p.GetOperation(method) == nil {
			t.Errorf("the contract has no %s %s", method, path)
		}
	}
}
