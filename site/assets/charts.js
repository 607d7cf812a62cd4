// Draws the charts again if scripts run, so that they respond to the pointer and fit the page. Until then, and
// if anything fails, the drawing that is already in the page stays.

import { element } from "./dom.js";

/** Width in pixels under which a chart has its labels above the bars, and its legend in columns. */
const NARROW = 600;
/** Height in pixels of a row on a narrow screen: a line of text above a bar. */
const ROW = 42;
/** Height in pixels of a row with several bars on a narrow screen, and the part of it that the label takes. */
const GROUP = 64;
const GROUP_LABEL = 0.35;

const load = (address) => import(new URL(address, document.baseURI).href);

const hasRows = (encoding) => encoding?.y?.sort !== undefined;

/** Change a chart with a row for each system so that names stand above the bars, inside the plot. */
const withLabelsAbove = (spec) => {
  const parts = [spec, ...(spec.layer ?? [])].filter(({ encoding }) => hasRows(encoding));
  if (!parts.length) return;
  const grouped = parts.some(({ encoding }) => encoding.yOffset);
  const offset = grouped ? -GROUP * 0.46 : -ROW * 0.28;
  for (const { encoding } of parts) {
    Object.assign(encoding.y.axis, { minExtent: 0, maxExtent: 0, labelAlign: "left", labelBaseline: "middle", labelPadding: 0, labelOffset: offset, labelLimit: 300, zindex: 1 });
    encoding.y.scale = { ...encoding.y.scale, type: "band", padding: grouped ? GROUP_LABEL : 0 };
  }
  spec.height = (grouped ? GROUP : ROW) * parts[0].encoding.y.sort.length;
  if (!grouped) for (const layer of spec.layer ?? []) lower(layer);
};

/** Move the marks of a row below its label. A band keeps the whole row. */
const lower = (layer) => {
  const { mark } = layer;
  if (mark.type === "rect" && layer.encoding.x === undefined) return;
  if (mark.type === "rect") {
    delete layer.encoding.y.bandPosition;
    mark.height = ROW * 0.5;
  }
  // A text at the end of the plot has the height of the label, where no bar is.
  mark.yOffset = layer.encoding.x?.value === "width" ? -ROW * 0.28 : ROW * 0.2;
};

const fitted = (spec, width) => {
  const config = { ...spec.config, padding: { left: 4, right: 12, top: 4, bottom: 4 } };
  if (width >= NARROW) return { ...spec, width: "container" };
  config.legend = { ...config.legend, columns: 2, labelLimit: 120 };
  config.axis = { ...config.axis, titleLimit: width - 24 };
  const narrow = { ...structuredClone(spec), width: "container", config };
  withLabelsAbove(narrow);
  const isName = ({ mark, encoding }) => mark.type === "text" && encoding.text?.field === "label";
  if (narrow.layer) narrow.layer = narrow.layer.filter((layer) => !isName(layer)); // names of points need more room
  for (const { encoding } of narrow.layer ?? []) {
    if (encoding.x?.axis?.orient === "top") Object.assign(encoding.x.axis, { labelAngle: -40, labelAlign: "left", labelOverlap: false });
  }
  return narrow;
};

const draw = async (canvas) => {
  const address = canvas.dataset.chart;
  const [spec] = await Promise.all([
    fetch(address).then((reply) => reply.json()),
    load(canvas.dataset.script),
  ]);
  const holder = document.createElement("div");
  canvas.append(holder);
  canvas.dataset.drawn = ""; // lets the canvas be as narrow as the page before it is measured
  try {
    // `ast` interprets expressions instead of compiling them: the page's policy allows no code made from text.
    await window.vegaEmbed(holder, fitted(spec, canvas.clientWidth), { renderer: "svg", actions: false, ast: true });
    if (canvas.dataset.chart !== address) return holder.remove(); // the reader chose another chart meanwhile
    for (const other of [...canvas.children]) if (other !== holder) other.remove();
  } catch (error) {
    holder.remove();
    delete canvas.dataset.drawn;
    throw error;
  }
};

const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    draw(target);
  }
}, { rootMargin: "600px" });

/** Replace the links to the charts of a group by a select. Its value is in the address. */
const addSelect = (list) => {
  const section = list.closest(".chart");
  const canvas = section.querySelector("[data-chart]");
  const key = `chart.${section.id.replace("chart-", "")}`;
  const links = [...list.querySelectorAll("a")];
  const select = element("select", {}, ...links.map((link) => element("option", { value: link.dataset.name, textContent: link.textContent })));
  const choose = () => {
    const folder = canvas.dataset.chart.replace(/[^/]*$/, "");
    canvas.dataset.chart = `${folder}${select.value}.themed.json`;
    for (const [place, link] of [...section.querySelectorAll(".files a")].entries()) link.href = `${folder}${select.value}.${place ? "json" : "svg"}`;
  };
  select.addEventListener("change", () => {
    choose();
    const address = new URL(location.href);
    if (select.selectedIndex) address.searchParams.set(key, select.value);
    else address.searchParams.delete(key);
    history.replaceState(history.state, "", address);
    seen.unobserve(canvas);
    draw(canvas);
  });
  const given = new URLSearchParams(location.search).get(key);
  if (links.some((link) => link.dataset.name === given)) {
    select.value = given;
    choose();
  }
  list.replaceWith(element("label", { className: "chart-select" }, "Horizontal axis ", select));
};

const start = () => {
  document.querySelectorAll(".chart-choices").forEach(addSelect);
  document.querySelectorAll("[data-chart]:not([data-drawn])").forEach((canvas) => seen.observe(canvas));
};

if (window.document$) window.document$.subscribe(start);
else start();
