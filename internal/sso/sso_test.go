package sso

import (
	"testing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	claims := map[string]any{
		"groups": []any{"a", 7.0, "b"}, "role": "admin", "realm_access": map[string]any{"roles": []any{"x"}},
		"https://shop.example/roles": []any{"y"},
	}
	for name, want := range map[string][]string{
		"groups": {"a", "b"}, "role": {"admin"}, "realm_access.roles": {"x"}, "https://shop.example/roles": {"y"},
		"none": nil, "role.x": nil, "realm_access": nil, "realm_access.none": nil,
	} {
		got := values(find(claims, name))
		if len(got) != len(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
}
