// Package pass signs and verifies passes: the signed proof that a visitor was let in to an item. A pass is an EdDSA
// (Ed25519) JWT that any origin verifies offline with the issuer's public keys:
//
//	keys, err := pass.ParseJWKS(body) // of /.well-known/jwks.json
//	v := pass.Verifier{Keys: keys, Issuer: "https://queue.example", Cache: pass.NewCache(10_000)}
//	claims, err := v.Verify(token, "sku-1")
//
// Middleware does all of it for the pages of a Go service: verifies, asks Sluice about everybody else, renews, and sends
// to the waiting page who has to wait.
//
// It needs the standard library alone and nothing of the rest of this module, so that an origin may copy it as it is.
package pass
