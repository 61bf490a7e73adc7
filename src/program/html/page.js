/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps a page of glb-director or glb-healthcheck up to date: fetches it again and replaces what has changed. Adds a filter.
 * The page is complete without this script.
 */
"use strict";
(() => {
	const PAUSE_MS = 5000;
	/* Of the time, the browser and the server may spend this part on a page that is large. */
	const SHARE = 10;
	const byId = (id) => document.getElementById(id);
	const button = byId("pause"), filter = byId("filter"), told = byId("told");
	let paused = false, fetched = Date.now();

	/* Rows whose text does not have every word of the filter disappear, and folds with rows that remain are open. */
	function applyFilter() {
		const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
		let shown = 0, all = 0;
		for (const row of document.querySelectorAll("[data-filter] tbody tr")) {
			const fold = row.closest("details");
			const text = (row.textContent + " " + (fold ? fold.firstElementChild.textContent : "")).toLowerCase();
			row.hidden = !words.every((word) => text.includes(word));
			shown += !row.hidden;
			all++;
		}
		for (const fold of document.querySelectorAll("[data-filter] details"))
			fold.hidden = words.length > 0 && !fold.querySelector("tbody tr:not([hidden])");
		byId("found").textContent = words.length ? `${shown} of ${all} rows` : "";
	}

	/* Replaces each element with an id and the attribute data-live, and keeps folds as they are. */
	function replace(page) {
		const isOpen = new Map([...document.querySelectorAll("details[id]")].map((fold) => [fold.id, fold.open]));
		const focused = document.activeElement && document.activeElement.closest("[id]");
		for (const now of document.querySelectorAll("[data-live]")) {
			const next = page.getElementById(now.id);
			if (!next)
				continue;
			for (const fold of next.querySelectorAll("details[id]"))
				if (isOpen.has(fold.id))
					fold.open = isOpen.get(fold.id);
			if (!now.isEqualNode(next)) {
				const left = [...now.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
				now.replaceWith(document.adoptNode(next));
				next.querySelectorAll(".scroll").forEach((box, i) => { box.scrollLeft = left[i] || 0; });
			}
		}
		if (focused && focused.id && !document.contains(focused)) {
			const again = byId(focused.id);
			(again && again.matches("details") ? again.firstElementChild : again)?.focus({preventScroll: true});
		}
		document.title = page.title;
		if (filter)
			applyFilter();
	}

	function isBusy() {
		return paused || document.hidden || !getSelection().isCollapsed;
	}

	async function refresh() {
		const begin = Date.now();
		if (isBusy())
			return PAUSE_MS;
		try {
			const reply = await fetch(location.href, {cache: "no-store", signal: AbortSignal.timeout(30000)});
			if (!reply.ok)
				throw new Error(`the server replies ${reply.status}`);
			const page = new DOMParser().parseFromString(await reply.text(), "text/html");
			if (!page.getElementById("end"))
				throw new Error("the page ended early");
			if (!isBusy())
				replace(page);
			fetched = Date.now();
			told.textContent = "";
		} catch (error) {
			told.textContent = `Not updated for ${Math.round((Date.now() - fetched) / 1000)} s: ${error.message}`;
		}
		return Math.max(PAUSE_MS, SHARE * (Date.now() - begin));
	}

	async function run() {
		for (;;) {
			const pause = await refresh();
			await new Promise((done) => setTimeout(done, pause));
		}
	}

	button.hidden = false;
	button.addEventListener("click", () => {
		paused = !paused;
		button.setAttribute("aria-pressed", paused);
		button.textContent = paused ? "Paused: update" : "Pause";
	});
	if (filter) {
		filter.closest("p").hidden = false;
		filter.addEventListener("input", applyFilter);
		applyFilter();
	}
	setTimeout(run, PAUSE_MS);
})();
