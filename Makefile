# SPDX-License-Identifier: GPL-2.0-only
#
# The project's front door.  `make help` lists what there is.

# Which kernel to compile for: 6.1, 6.12, 7.x (Debian's, kept in a cache, see
# ci/setup/kernel) or running.  Without it: 6.1 if it is in the cache, else running.
KERNEL ?=
# Any kernel build directory instead.
KDIR ?=

PREFIX ?= /usr
DESTDIR ?=

.DEFAULT_GOAL := all

check-unit:			## the tests that need neither root nor a guest; half a minute
	@ci/test/check-unit

all: modules userspace		## modules and tools (default)

modules:			## the modules, in build/KERNEL/dm-tier
	ci/build-modules $(or $(abspath $(KDIR)),$(KERNEL))

userspace:			## tierctl and its like
	$(MAKE) -C userspace

check:				## set up, build, test in a guest (TESTS='verify*' for some)
	@ci/test/check $(or $(KERNEL),6.1)

check-all:			## every kind of test there is; takes most of a day (CUTS=500 SOAK=3600 ANEW=1 ONLY=PATTERN)
	@CUTS='$(CUTS)' SOAK='$(SOAK)' ANEW='$(ANEW)' ONLY='$(ONLY)' ci/test/check-all

check-crash:			## power cuts and replayed logs in a guest (CUTS=50 SEED=N POINTS=5 FSYNCS=3)
	@TESTS='crash/*' CUTS='$(CUTS)' SEED='$(SEED)' POINTS='$(POINTS)' FSYNCS='$(FSYNCS)' \
		DM_TIER_GUEST_TIMEOUT=$${DM_TIER_GUEST_TIMEOUT:-14400} ci/test/check $(or $(KERNEL),6.1)

check-kill:			## guests killed while they work (ROUNDS=2)
	@ci/setup/machine
	@ci/build-modules $(or $(KERNEL),6.1)
	@tests/crash/kill-guest $(or $(ROUNDS),2)

check-boot:			## a Debian boots from an image with sets in its fstab (N=10 boots, N cuts)
	@ci/setup/machine
	@tests/boot/run --kernel $(or $(KERNEL),6.1) $(or $(N),10)

check-root:			## a Debian boots whose root file system is on a set, by initramfs-tools and dracut (N=5)
	@ci/setup/machine
	@tests/boot/root --kernel $(or $(KERNEL),6.1) $(or $(N),5)

check-mirror:			## metadata on the tiers: halves lost, moved, cut off; udev
	@TESTS='mirror mirror-grow udev crash/logwrites' ci/test/check $(or $(KERNEL),6.1)

check-reach:			## tiers on other machines; sets that several machines see, the resource agent
	@tests/reach/run $(or $(KERNEL),6.1)

check-convert:			## such a Debian whose volume is converted when it boots, gets a kernel, and is reverted in use
	@ci/setup/machine
	@tests/boot/convert --kernel $(or $(KERNEL),6.1)

check-install:			## the packages, in a bare Debian that boots (SUITES='bookworm trixie')
	@ci/setup/machine
	@for suite in $(or $(SUITES),bookworm); do tests/boot/packages $$suite || exit; done

check-faults:			## devices that fail, in every way they can, in a guest
	@TESTS='faults/*' ci/test/check $(or $(KERNEL),6.1)

check-asan:			## tierctl with AddressSanitizer and UBSan through its tests
	@ci/setup/machine
	@$(MAKE) -s -C userspace asan
	@TIERCTL=$(CURDIR)/userspace/tierctl.asan \
		TESTS='$(or $(TESTS),tierctl* files see schedule reshape)' ci/test/check $(or $(KERNEL),6.1)

check-valgrind:			## tierctl and the tools under valgrind
	@TESTS=valgrind ci/test/check $(or $(KERNEL),6.1)

check-debug:			## tests on a kernel with KASAN, lockdep (SHORT=1; LEAKS=1: kmemleak)
	@ci/test/check-debug $(or $(KERNEL),debug)

coverage:			## lines of the modules that the tests execute, by check-debug
	@ci/test/coverage $(TESTS)

coverage-report:		## of what has been counted (COUNTS=DIR)
	@ci/test/coverage-report --least 90 $(or $(COUNTS),build/coverage) build/coverage

check-build:			## compile for every kernel: W=1, sparse, no warning
	@ci/setup/machine
	@ci/lint/check-build $(KERNEL)

check-style:			## shellcheck, checkpatch --strict, who calls whom (ci/check-layers)
	@ci/setup/machine
	@ci/lint/check-style

check-abi:			## our declarations against the kernels' own types
	@ci/setup/machine
	@ci/lint/check-abi --self-test
	@ci/lint/check-abi

check-ci:			## does the test runner notice what it should?
	@ci/setup/machine
	@ci/test/selftest/check-all
	@ci/test/selftest/check-unit
	@ci/guest/run --kernel $(or $(KERNEL),6.1) ci/test/selftest/run

check-mutants:			## do the tests catch the defects they are for? (MUTANT=name for one)
	@ci/setup/machine
	@ci/test/check-mutants --kernel $(or $(KERNEL),6.1) $(MUTANT)

fuzz:				## nonsense for the tools and the modules (N=1000 SEED=1 SECONDS=30)
	@ci/setup/machine
	@$(MAKE) -s -C tests/fuzz tools
	@build/fuzz/fuzztools $(or $(N),1000) $(or $(SEED),1)
	@$(MAKE) -s -C tests/fuzz/reader run SECONDS=$(or $(SECONDS),30)
	@N=$(or $(N),1000) SEED=$(or $(SEED),1) ci/test/fuzz $(or $(KERNEL),6.1)

soak:				## everything at once for an hour; nothing may grow (SOAK=3600 seconds)
	@ci/setup/machine
	@ci/test/soak $(or $(SOAK),3600) $(or $(KERNEL),6.1)

bench:				## dm-tier beside dm-linear, dm-cache and others (ROUNDS=3 TARGETS= JOBS= OUT=build/bench SHORT=1)
	@ROUNDS='$(ROUNDS)' TARGETS='$(TARGETS)' JOBS='$(JOBS)' OUT='$(OUT)' SHORT='$(SHORT)' \
		tests/bench/run $(or $(KERNEL),6.1)

bench-policy:			## the heat policy beside LRU, SMQ, S3-FIFO and one that knows the future (TRACES=DIR PERCENTS='10 20' MOVES=20)
	@$(MAKE) -s -C tests/policy bench OUT=$(CURDIR)/build/policy TRACES='$(abspath $(TRACES))'

scale:				## how what is done to a whole set grows with its size (SIZES='64g 1t 16t 64t' OUT=build/scale)
	@SIZES='$(SIZES)' OUT='$(OUT)' tests/scale/run $(or $(KERNEL),6.1)

demo:				## a guest with a fast and a slow disk shows what this is about
	@ci/setup/machine
	@ci/build-modules $(or $(KERNEL),6.1)
	@$(MAKE) -s -C userspace
	@ci/demo/run $(or $(KERNEL),6.1)

# Installs for the running kernel, unless another kernel is named.
install: install-modules install-userspace	## modules (running kernel, or KDIR=DIR), tools, manual pages

INSTALL_FROM = $(or $(abspath $(KDIR)),/lib/modules/$(shell uname -r)/build)
# The kernel's own target runs depmod only if System.map is there, which Debian's headers lack.
install-modules:
	$(if $(KDIR),,$(if $(filter-out running,$(KERNEL)),$(error install takes KDIR=DIR or the running kernel)))
	ci/build-modules $(or $(abspath $(KDIR)),running)
	$(MAKE) -C $(INSTALL_FROM) M=$(CURDIR)/build/$(if $(KDIR),custom,running)/dm-tier \
		$(if $(DESTDIR),INSTALL_MOD_PATH=$(abspath $(DESTDIR))) modules_install
	$(if $(DESTDIR),,PATH=$$PATH:/usr/sbin:/sbin depmod "$$(sed -n 's/.* UTS_RELEASE "\(.*\)"/\1/p' \
		$(INSTALL_FROM)/include/generated/utsrelease.h)")

install-userspace: userspace
	$(MAKE) -C userspace install PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)
	for page in $(wildcard man/*.7); do \
		install -D -m 644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; \
	done

# With dkms the modules follow every kernel update.
DKMS_VERSION = $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dm-tier/dkms.conf)
DKMS_DIR = $(DESTDIR)/usr/src/dm-tier-$(DKMS_VERSION)
install-dkms:			## the modules' source where dkms wants it, built and installed
	mkdir -p $(DKMS_DIR)
	cd dm-tier && find . -type f \( -name '*.[chS]' -o -name Kbuild -o -name dkms.conf -o -name 'check-*' \) \
		-exec cp --parents -p -t $(DKMS_DIR) {} +
	$(if $(DESTDIR),,dkms install dm-tier/$(DKMS_VERSION))

deb:				## Debian packages, in build/deb
	@ci/setup/machine
	@ci/package/deb

rpm:				## RPM packages, in build/rpm
	@ci/setup/machine
	@ci/package/rpm

check-packages:			## the packages: whole, clean, for which kernels (SUITES='bookworm trixie': used there)
	@ci/setup/machine
	@SUITES='$(SUITES)' tests/packages/run

check-metrics:			## metrics, alerts and dashboard with Debian's Prometheus and node exporter
	@ci/setup/machine
	@ci/test/check-metrics $(or $(KERNEL),6.1)

upstream:			## a series of patches against the kernel: build/upstream
	@ci/setup/machine
	@source=$$(ci/setup/source 7.x) && ci/upstream/series "$$source/tree" build/upstream

check-upstream:			## that series: compiles, is clean, works in a kernel that has it (TESTS='ctr flush')
	@ci/upstream/check $(TESTS)

check-blkid:			## patches for util-linux, by which blkid and wipefs know members: build/util-linux
	@ci/upstream/check-blkid

clean:				## what was compiled here; the cache stays
	rm -rf build
	for dir in userspace ci/guest/slowdisk tests/*/; do \
		if grep -qs '^clean *:' $$dir/Makefile; then $(MAKE) -s -C $$dir clean || exit 1; fi; \
	done

help:				## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 16
	@echo
	@echo "KERNEL=6.1|6.12|7.x|running or KDIR=DIR selects the kernel."

.PHONY: bench-policy check-unit all modules userspace check check-all check-asan check-valgrind check-boot check-root check-mirror check-reach check-convert check-install check-crash check-faults check-kill \
	check-debug coverage coverage-report check-build check-style check-abi check-ci check-metrics check-mutants check-packages check-upstream check-blkid upstream deb rpm fuzz soak bench scale demo \
	install install-modules install-userspace install-dkms clean help
