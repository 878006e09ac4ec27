package mounts

import (
	"testing"
)

// TestGroupsOfUsers: UserOf finds a user's groups in the host's own files.
func TestGroupsOfUsers(t *testing.T) {
	root, err := UserOf(0)
	if err != nil || root.UID != 0 || root.GID != 0 {
		t.Errorf("root is %+v, %v", root, err)
	}
	const nobodys = 1_999_999_999
	if who, err := UserOf(nobodys); err != nil || who.UID != nobodys || who.GID != nobodys || len(who.Groups) > 0 || who.In(0) {
		t.Errorf("a user without an account is %+v, %v", who, err)
	}
	if who, err := withoutAccount(0, "0"); err != nil || who.GID != NoGroup {
		t.Errorf("a user without an account, whose number is another's group, is %+v, %v", who, err)
	}
}

func BenchmarkUserOf(b *testing.B) {
	for b.Loop() {
		if _, err := UserOf(1000); err != nil {
			b.Fatal(err)
		}
	}
}
