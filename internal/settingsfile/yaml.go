package settingsfile

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// entry is one line of a mapping.
type entry struct {
	key   string
	value ast.Node
	line  int
}

// entries lists those of a mapping; none of a null.
func entries(n ast.Node, of string) ([]entry, error) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	case *ast.NullNode:
		return nil, nil
	default:
		return nil, &Error{Line: line(n), What: of + " must be a mapping"}
	}
	var all []entry
	seen := map[string]bool{}
	for _, v := range values {
		key, ok := v.Key.(ast.ScalarNode)
		if !ok {
			return nil, &Error{Line: line(v), What: of + ": a key must be a text"}
		}
		text := fmt.Sprint(key.GetValue())
		if seen[text] {
			return nil, &Error{Line: line(v.Key), What: fmt.Sprintf("%s: %q stands twice", of, text)}
		}
		seen[text] = true
		all = append(all, entry{text, v.Value, line(v.Key)})
	}
	return all, nil
}

// asJSON gives a value as JSON. A null is the default, as in the admin API, so it is no value here.
func asJSON(n ast.Node) (json.RawMessage, error) {
	if _, null := n.(*ast.NullNode); null {
		return nil, errors.New("a field without a value: leave it out to have its default")
	}
	var v any
	if err := yaml.NodeToValue(n, &v); err != nil {
		return nil, yamlError(err)
	}
	return json.Marshal(v)
}

func line(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// yamlError gives the first line of the library's message, without the part of the file that it quotes.
func yamlError(err error) error {
	var of yaml.Error
	if !errors.As(err, &of) {
		return &Error{What: "it is not YAML"}
	}
	e := &Error{What: of.GetMessage()}
	if t := of.GetToken(); t != nil && t.Position != nil {
		e.Line = t.Position.Line
	}
	return e
}
