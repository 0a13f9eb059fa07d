// Lints of the report's scripts. `tsc` finds unknown names and wrong types.
export default [
  {
    files: ["**/*.js"],
    languageOptions: { ecmaVersion: 2024, sourceType: "script" },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      complexity: ["error", 15],
      "consistent-return": "error",
      eqeqeq: "error",
      "max-depth": ["error", 4],
      "max-lines-per-function": ["error", 80],
      "max-params": ["error", 7],
      "no-shadow": "error",
      "no-unused-vars": "error",
      "no-var": "error",
      "prefer-const": "error",
      strict: ["error", "global"],
    },
  },
];
