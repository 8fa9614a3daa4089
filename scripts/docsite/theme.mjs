// VitePress's theme with the reader's own fonts: the site carries none.
export { default } from "vitepress/theme-without-fonts";
