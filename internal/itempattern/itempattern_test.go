package itempattern

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/queue"
)

func TestItem(t *testing.T) {
	t.Parallel()
	sale := []string{"/Black-Friday-Sale=bf"}
	strict := []string{"case:/Black-Friday-Sale=bf"}
	product := []string{"/product/{item}"}
	for _, c := range []struct {
		name     string
		patterns []string
		uri      string
		want     queue.Item // "" = no match
	}{
		// B010: one page, however it is spelled.
		{"a query does not count", sale, "/Black-Friday-Sale?x=1", "bf"},
		{"a slash at the end does not count", sale, "/Black-Friday-Sale/", "bf"},
		{"doubled slashes are one", sale, "//Black-Friday-Sale", "bf"},
		{"a way through another folder is resolved", sale, "/a/../Black-Friday-Sale", "bf"},
		{"a way through the same folder is resolved", sale, "/./Black-Friday-Sale", "bf"},
		{"percent-encoding is undone", sale, "/Black%2DFriday%2DSale", "bf"},
		{"parameters do not count", sale, "/Black-Friday-Sale;v=1", "bf"},
		{"case does not count", sale, "/black-friday-sale", "bf"},
		{"encoded dots and slashes are resolved", sale, "/a/%2e%2e%2fBlack-Friday-Sale", "bf"},
		{"an encoded backslash is a slash", sale, "/%5cBlack-Friday-Sale", "bf"},
		{"a plain backslash is a slash", sale, `/a\..\Black-Friday-Sale`, "bf"},
		{"encoded twice is another page", sale, "/Black%252DFriday%252DSale", ""},
		{"a NUL at the end does not count", sale, "/Black-Friday-Sale%00", "bf"},
		{"a NUL cuts off what follows", sale, "/Black-Friday-Sale%00.html", "bf"},
		{"a NUL behind a slash does not count", sale, "/Black-Friday-Sale/%00", "bf"},
		{"a NUL before a way back is resolved with it", sale, "/x%00/../Black-Friday-Sale", "bf"},
		{"dots with parameters are dots", sale, "/a/..;x=1/Black-Friday-Sale", "bf"},
		{"an encoded parameter sign counts as one", sale, "/Black-Friday-Sale%3Bv=1", "bf"},
		{"more dots than folders stop at the root", sale, "/../../Black-Friday-Sale", "bf"},
		{"a whole address is read by its path", sale, "https://shop.example/Black-Friday-Sale#top", "bf"},
		{"a pattern that heeds case matches its own", strict, "/Black%2DFriday-Sale/", "bf"},
		{"a pattern that heeds case passes another spelling", strict, "/black-friday-sale", ""},

		{"a page below is another page", sale, "/Black-Friday-Sale/terms", ""},
		{"a page that begins alike is another page", sale, "/Black-Friday-Sales", ""},
		{"the root is another page", sale, "/", ""},
		{"an address without a path is another page", sale, "https://shop.example", ""},
		{"nothing is another page", sale, "", ""},
		{"a percent sign that encodes nothing is itself", []string{"/100%=full"}, "/100%", "full"},
		{"the root can be a pattern", []string{"/=home"}, "//", "home"},

		{"the item is taken from the path", product, "/product/sku-1", "sku-1"},
		{"a captured text is lower-cased", product, "/Product/SKU-1/", "sku-1"},
		{"case: keeps a captured text as it is", []string{"case:/product/{item}"}, "/product/SKU-1", "SKU-1"},
		{"a byte outside the alphabet is written in hex", product, "/product/a%20b%2Cc", "a~20b~2Cc"},
		{"a tilde is written in hex", product, "/product/~x", "~7Ex"},
		{"letters of other scripts are folded too", product, "/product/%C3%89t%C3%A9", "~C3~A9t~C3~A9"},
		{"bytes that are no text stay apart", product, "/product/A%FF", "a~FF"},
		{"an empty item is none", product, "/product/", ""},
		{"an item has one segment", product, "/product/a/b", ""},
		{"an item that parameters leave empty is none", product, "/product/;v=1", ""},
		{"fixed text beside the item stays out of it", []string{"/p/{item}.html"}, "/P/Sku.1.HTML", "sku.1"},
		{"fixed text alone holds no item", []string{"/p/{item}.html"}, "/p/.html", ""},
		{"an item in the middle needs the rest", []string{"/p/{item}/buy"}, "/p/1/buy", "1"},
		{"an item in the middle misses the rest", []string{"/p/{item}/buy"}, "/p/1", ""},
		{"the first pattern that matches decides", []string{"/p/gold=vip", "/p/{item}"}, "/p/gold", "vip"},
		{"the next pattern has its turn", []string{"/p/gold=vip", "/p/{item}"}, "/p/silver", "silver"},
		{"without patterns nothing matches", nil, "/p/silver", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ps, err := ParseAll(c.patterns)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := ps.Item(c.uri); got != c.want || ok != (c.want != "") {
				t.Errorf("Item(%q) = %q, %v; want %q", c.uri, got, ok, c.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, pattern, why string }{
		{"a path without an item is refused", "/product", "{item}"},
		{"a path that names a bad item is refused", "/product=a b", "no item id"},
		{"a path that names no item is refused", "/product=", "no item id"},
		{"two items are refused", "/{item}/{item}", "more than once"},
		{"a path must begin with a slash", "product/{item}", "begin with /"},
		{"a path behind case: must begin with a slash", "case:product=x", "begin with /"},
		{"a query is refused", "/product?id={item}", "query"},
		{"a NUL is refused", "/a%00/{item}", "NUL"},
		{"an item that folds away is refused", "/a;{item}", "segment"},
		{"nothing is refused", "", "{item}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse(c.pattern); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("Parse(%q) = %v; want an error that says %q", c.pattern, err, c.why)
			}
		})
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 129)
	for _, c := range []struct {
		name, text string
		want       queue.Item
	}{
		{"a path is written as it stands", "/ksc.html", "~2Fksc.html"},
		{"the longest that fits is kept whole", long[:128], queue.Item(long[:128])},
		{"one more is cut and summed", long, queue.Item(long[:95] + "~c12cb024a2e5551cca0e08fce8f1c5e3")},
		{"nothing stays nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := Encode(c.text); got != c.want {
				t.Errorf("Encode(%q) = %q; want %q", c.text, got, c.want)
			}
		})
	}
}

func FuzzItem(f *testing.F) {
	for _, s := range []string{"/product/a", "//x/../product/%41;v?q", `\product\%00`, "https://h/product/%e9", "/product/" + strings.Repeat("%20", 90)} {
		f.Add(s)
	}
	patterns, err := ParseAll([]string{"/product/{item}", "case:/Product/{item}.html", "/sale=bf"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		item, ok := patterns.Item(uri)
		if ok {
			if _, err := queue.ParseItem(string(item)); err != nil {
				t.Errorf("Item(%q) = %q: %v", uri, item, err)
			}
		}
		// Folding what is folded changes nothing more, unless it uncovered another encoding.
		if c := clean(target(uri)); !strings.ContainsAny(c, `%;\?#`) && clean(c) != c {
			t.Errorf("clean(%q) = %q, and again %q", uri, c, clean(c))
		}
	})
}

func FuzzEncode(f *testing.F) {
	f.Add("/a b", "~2Fa b")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := Encode(a), Encode(b)
		if a != "" {
			if _, err := queue.ParseItem(string(x)); err != nil {
				t.Errorf("Encode(%q) = %q: %v", a, x, err)
			}
		}
		if (a == b) != (x == y) {
			t.Errorf("Encode(%q) = %q, Encode(%q) = %q", a, x, b, y)
		}
	})
}

func BenchmarkItem(b *testing.B) {
	ps, err := ParseAll([]string{"/sale=bf", "/product/{item}"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		ps.Item("/product/sku-1?utm=x")
	}
}
