package problem

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/fault"
)

// ReadBody reads a body of at most 64 KiB; ErrBodyTooLarge past that.
func ReadBody(c *gin.Context) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(c.Request.Body, MaxBody+1))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge), len(data) > MaxBody:
		return nil, ErrBodyTooLarge
	case err != nil:
		return nil, ErrInvalidBody.With("The body could not be read to its end.").Because(err)
	}
	return data, nil
}

// ReadJSON reads the body into the struct v points to: one JSON object in which every name is known and stands once,
// and every value is of its type. Else invalid_body with the field named.
func ReadJSON(c *gin.Context, v any) error {
	data, err := ReadBody(c)
	if err != nil {
		return err
	}
	return Decode(data, v)
}

// ReadOptionalJSON is ReadJSON where no body at all is an empty object.
func ReadOptionalJSON(c *gin.Context, v any) error {
	data, err := ReadBody(c)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return err
	}
	return Decode(data, v)
}

// Decode is ReadJSON on bytes.
func Decode(data []byte, v any) error {
	if err := check(data, reflect.TypeOf(v).Elem(), false); err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return ErrInvalidBody.Because(err)
	}
	return nil
}

// CheckPatch checks a JSON merge patch (RFC 7396) for the struct v points to, without applying it: as Decode, but null
// may stand anywhere.
func CheckPatch(data []byte, v any) error { return check(data, reflect.TypeOf(v).Elem(), true) }

// check walks the tokens along the type, which finds what encoding/json lets pass: names that differ in case, names
// that stand twice, null for a number.
func check(data []byte, t reflect.Type, nulls bool) error {
	if !utf8.Valid(data) {
		return ErrInvalidBody.With("The body is not UTF-8.")
	}
	w := walker{dec: json.NewDecoder(bytes.NewReader(data)), nulls: nulls}
	w.dec.UseNumber()
	if len(bytes.TrimSpace(data)) == 0 {
		return ErrInvalidBody.With("The body is empty; a JSON object is expected.")
	}
	if err := w.value("", t); err != nil {
		return err
	}
	if _, err := w.dec.Token(); !errors.Is(err, io.EOF) {
		return ErrInvalidBody.With("There is something after the JSON object.")
	}
	return nil
}

type walker struct {
	dec   *json.Decoder
	nulls bool
}

func (w *walker) token(path string) (json.Token, error) {
	tok, err := w.dec.Token()
	if err != nil {
		return nil, refuse(path, "is not valid JSON").Because(err)
	}
	return tok, nil
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (w *walker) value(path string, t reflect.Type) error {
	tok, err := w.token(path)
	if err != nil {
		return err
	}
	if tok == nil && path != "" && (w.nulls || t.Kind() == reflect.Pointer || reflect.PointerTo(t).Implements(unmarshaler)) {
		return nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	free := t.Kind() == reflect.Interface || reflect.PointerTo(t).Implements(unmarshaler)
	switch v := tok.(type) {
	case json.Delim:
		switch {
		case v == '{' && free:
			return w.object(path, func(string) (reflect.Type, bool) { return reflect.TypeFor[any](), true })
		case v == '{' && t.Kind() == reflect.Struct:
			fields := fieldsOf(t)
			return w.object(path, func(name string) (reflect.Type, bool) { f, ok := fields[name]; return f, ok })
		case v == '{' && t.Kind() == reflect.Map:
			return w.object(path, func(string) (reflect.Type, bool) { return t.Elem(), true })
		case v == '[' && free:
			return w.array(path, reflect.TypeFor[any]())
		case v == '[' && t.Kind() == reflect.Slice:
			return w.array(path, t.Elem())
		}
	case json.Number:
		if free || fits(v, t) {
			return nil
		}
	case string:
		if free || t.Kind() == reflect.String {
			return nil
		}
	case bool:
		if free || t.Kind() == reflect.Bool {
			return nil
		}
	case nil:
		if free && path != "" {
			return nil
		}
	}
	return refuse(path, "must be "+words(t))
}

func (w *walker) object(path string, field func(string) (reflect.Type, bool)) error {
	seen := map[string]bool{}
	for w.dec.More() {
		tok, err := w.token(path)
		if err != nil {
			return err
		}
		name := tok.(string) // a key: the decoder gives nothing else here
		at := strings.TrimPrefix(path+"."+name, ".")
		t, ok := field(name)
		if !ok {
			return refuse(at, "is not a field that is known here")
		}
		if seen[name] {
			return refuse(at, "stands twice")
		}
		seen[name] = true
		if err := w.value(at, t); err != nil {
			return err
		}
	}
	_, err := w.token(path)
	return err
}

func (w *walker) array(path string, t reflect.Type) error {
	for i := 0; w.dec.More(); i++ {
		if err := w.value(fmt.Sprintf("%s[%d]", path, i), t); err != nil {
			return err
		}
	}
	_, err := w.token(path)
	return err
}

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}

func fits(n json.Number, t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		_, err := strconv.ParseInt(string(n), 10, t.Bits())
		return err == nil
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(string(n), t.Bits())
		return err == nil && !math.IsInf(f, 0)
	}
	return false
}

func words(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "a JSON object"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	default:
		return "a whole number"
	}
}

// refuse names the field; a long or odd name is cut, since it is the caller's.
func refuse(path, what string) *fault.Error {
	if path == "" {
		path = "The body"
	} else if len(path) > 100 {
		path = strings.ToValidUTF8(path[:100], "") + "…"
	}
	return ErrInvalidBody.With(path + " " + what + ".")
}
