import { render } from "preact";
import { App } from "./app";
import "uplot/dist/uPlot.min.css";
import "./style.css";

render(<App />, document.getElementById("console") as HTMLElement);
