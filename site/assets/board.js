// The tables of the board: each can be sorted and filtered, except a plain one.

import { BoardTable } from "./board-table.js";

export { BoardTable };

const start = () => {
  for (const table of document.querySelectorAll("table.board-table:not([data-ready], [data-plain])")) {
    table.dataset.ready = "";
    new BoardTable(table);
  }
  delete document.documentElement.dataset.firstRows; // the tables draw the other rows themselves
};

// The theme announces each page it shows, whether the browser loaded it or the theme did.
if (window.document$) window.document$.subscribe(start);
else start();
