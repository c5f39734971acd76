"use strict";
var __awaiter = (this && this.__awaiter) || function (thisArg, _arguments, P, generator) {
    function adopt(value) { return value instanceof P ? value : new P(function (resolve) { resolve(value); }); }
    return new (P || (P = Promise))(function (resolve, reject) {
        function fulfilled(value) { try { step(generator.next(value)); } catch (e) { reject(e); } }
        function rejected(value) { try { step(generator["throw"](value)); } catch (e) { reject(e); } }
        function step(result) { result.done ? resolve(result.value) : adopt(result.value).then(fulfilled, rejected); }
        step((generator = generator.apply(thisArg, _arguments || [])).next());
    });
};
var __generator = (this && this.__generator) || function (thisArg, body) {
    var _ = { label: 0, sent: function() { if (t[0] & 1) throw t[1]; return t[1]; }, trys: [], ops: [] }, f, y, t, g = Object.create((typeof Iterator === "function" ? Iterator : Object).prototype);
    return g.next = verb(0), g["throw"] = verb(1), g["return"] = verb(2), typeof Symbol === "function" && (g[Symbol.iterator] = function() { return this; }), g;
    function verb(n) { return function (v) { return step([n, v]); }; }
    function step(op) {
        if (f) throw new TypeError("Generator is already executing.");
        while (g && (g = 0, op[0] && (_ = 0)), _) try {
            if (f = 1, y && (t = op[0] & 2 ? y["return"] : op[0] ? y["throw"] || ((t = y["return"]) && t.call(y), 0) : y.next) && !(t = t.call(y, op[1])).done) return t;
            if (y = 0, t) op = [op[0] & 2, t.value];
            switch (op[0]) {
                case 0: case 1: t = op; break;
                case 4: _.label++; return { value: op[1], done: false };
                case 5: _.label++; y = op[1]; op = [0]; continue;
                case 7: op = _.ops.pop(); _.trys.pop(); continue;
                default:
                    if (!(t = _.trys, t = t.length > 0 && t[t.length - 1]) && (op[0] === 6 || op[0] === 2)) { _ = 0; continue; }
                    if (op[0] === 3 && (!t || (op[1] > t[0] && op[1] < t[3]))) { _.label = op[1]; break; }
                    if (op[0] === 6 && _.label < t[1]) { _.label = t[1]; t = op; break; }
                    if (t && _.label < t[2]) { _.label = t[2]; _.ops.push(op); break; }
                    if (t[2]) _.ops.pop();
                    _.trys.pop(); continue;
            }
            op = body.call(thisArg, _);
        } catch (e) { op = [6, e]; y = 0; } finally { f = t = 0; }
        if (op[0] & 5) throw op[1]; return { value: op[0] ? op[1] : void 0, done: true };
    }
};
var __rest = (this && this.__rest) || function (s, e) {
    var t = {};
    for (var p in s) if (Object.prototype.hasOwnProperty.call(s, p) && e.indexOf(p) < 0)
        t[p] = s[p];
    if (s != null && typeof Object.getOwnPropertySymbols === "function")
        for (var i = 0, p = Object.getOwnPropertySymbols(s); i < p.length; i++) {
            if (e.indexOf(p[i]) < 0 && Object.prototype.propertyIsEnumerable.call(s, p[i]))
                t[p[i]] = s[p[i]];
        }
    return t;
};
Object.defineProperty(exports, "__esModule", { value: true });
exports.kinds = exports.Orders = void 0;
var basket_1 = require("./basket");
var Orders = /** @class */ (function () {
    function Orders(name) {
        if (name === void 0) { name = 'orders'; }
        this.name = name;
        this.all = [];
    }
    Orders.prototype.place = function (order) {
        return __awaiter(this, void 0, Promise, function () {
            var id, rest;
            return __generator(this, function (_a) {
                switch (_a.label) {
                    case 0:
                        this.all.push(order);
                        id = order.id, rest = __rest(order, ["id"]);
                        return [4 /*yield*/, this.check(id !== null && id !== void 0 ? id : 0)];
                    case 1:
                        _a.sent();
                        return [2 /*return*/, (0, basket_1.total)(rest.größe.map(function (one) { return one * 2; }))];
                }
            });
        });
    };
    Orders.prototype.check = function (id) {
        return __awaiter(this, void 0, Promise, function () {
            var _this = this;
            return __generator(this, function (_a) {
                if (this.all.some(function (other) { return (other === null || other === void 0 ? void 0 : other.id) === id && other !== _this.all.at(-1); })) {
                    throw new Error("".concat(this.name, ": ").concat(id, " is there already"));
                }
                return [2 /*return*/];
            });
        });
    };
    return Orders;
}());
exports.Orders = Orders;
var Kind;
(function (Kind) {
    Kind[Kind["Small"] = 1] = "Small";
    Kind[Kind["Large"] = 2] = "Large";
})(Kind || (Kind = {}));
exports.kinds = Object.keys(Kind).filter(function (key) { return isNaN(Number(key)); });
void new Orders().place({ id: Kind.Large, größe: [1, 2] }).then(function (sum) { return console.log('sum', sum, exports.kinds); });
//# sourceMappingURL=orders.js.map