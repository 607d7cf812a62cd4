// Draws the charts again if scripts run, so that they answer to the pointer and fit the page. Until then, and
// where anything fails, the drawing that is already in the page stays.

const load = (address) => import(new URL(address, document.baseURI).href);

const draw = async (canvas) => {
  const [spec] = await Promise.all([
    fetch(canvas.dataset.chart).then((reply) => reply.json()),
    load(canvas.dataset.script),
  ]);
  const holder = document.createElement("div");
  canvas.append(holder);
  canvas.dataset.drawn = ""; // lets the canvas be as narrow as the page before it is measured
  try {
    // `ast` interprets expressions instead of compiling them: the page's policy allows no code made from text.
    await window.vegaEmbed(holder, { ...spec, width: "container" }, { renderer: "svg", actions: false, ast: true });
    canvas.querySelector(":scope > svg")?.remove();
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

const start = () => document.querySelectorAll("[data-chart]:not([data-drawn])").forEach((canvas) => seen.observe(canvas));

if (window.document$) window.document$.subscribe(start);
else start();
